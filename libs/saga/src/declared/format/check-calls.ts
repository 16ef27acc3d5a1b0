import type { Located } from '../source/located.js';
import { placeOf } from '../source/located.js';
import type { ReportAt } from '../source/parse-source.js';
import type { CallFile, SagaFile } from './saga-file.js';

/** Headers, and variables, that each call gets from the engine. */
const OWN = ['saga-id', 'saga-step', 'idempotency-key', 'saga-attempt', 'saga-fencing-token'];
/** Headers that follow from the body. */
const OF_BODY = ['content-length', 'transfer-encoding', 'host', 'connection', 'expect', 'upgrade'];

/** Reports combinations in requests and commands that the format cannot express. */
export function checkCalls({ steps }: SagaFile, root: Located, report: ReportAt): void {
  for (const [step, definition] of steps) {
    const path = ['steps', step];
    if (definition.resultSchema !== undefined && definition.message && !definition.message.reply)
      report(placeOf(root, [...path, 'resultSchema']), 'a message without reply has no result', 'remove it');
    checkCall(definition, path, root, report);
    if (definition.compensate) checkCall(definition.compensate, [...path, 'compensate'], root, report);
    if (definition.probe) checkCall(definition.probe, [...path, 'probe'], root, report);
  }
}

function checkCall({ http, exec }: CallFile, path: readonly string[], root: Located, report: ReportAt): void {
  const at = (...keys: string[]) => placeOf(root, [...path, ...keys]);
  for (const name of http?.headers?.keys() ?? []) {
    const lower = name.toLowerCase();
    if (OWN.includes(lower))
      report(at('http', 'headers', name), `the header ${name} is set by the engine`, 'remove it');
    if (OF_BODY.includes(lower))
      report(at('http', 'headers', name), `the header ${name} cannot be set`, 'remove it');
  }
  const { method, body, tls } = http ?? {};
  if (tls && (tls.cert === undefined) !== (tls.key === undefined))
    report(at('http', 'tls'), 'tls has only one of cert and key', 'give both, or none');
  if (body && (method === 'GET' || method === 'HEAD'))
    report(at('http', 'body'), `${method} has no body`, 'remove body, or use another method');
  for (const name of exec?.env?.keys() ?? []) {
    if (name.startsWith('SAGA_'))
      report(at('exec', 'env', name), `the variable ${name} is set by the engine`, 'give it another name');
  }
  if (!exec) return;
  const { command, shell = false } = exec;
  const place = at('exec', 'command');
  if (shell && typeof command !== 'string')
    report(place, 'with shell: true, command is a list', 'give the command as one text, or remove shell');
  if (!shell && typeof command === 'string')
    report(place, 'command is a text', 'give a list: [program, argument], or set shell: true');
  if (typeof command === 'string' && command.includes('{{'))
    report(
      place,
      'a command of the shell has expressions, whose values it would run',
      'pass them in env or stdin',
    );
}
