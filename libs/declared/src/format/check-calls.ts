import { accessSync, constants } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { suggestion } from 'nestjs-durable-saga/internal';
import type { FindMethod } from '../action/provider-call.js';
import { isPem } from '../action/tls-files.js';
import { expressionsOf, type TextTemplate } from '../expression/template.js';
import { type Located, placeOf } from '../source/located.js';
import type { ReportAt } from '../source/parse-source.js';
import { type CallFile, callsOf, type SagaFile } from './saga-file.js';

/** What a file refers to. */
export interface FileSurroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Whether variables, methods and files that do not exist are problems. */
  readonly checkEnvironment: boolean;
  readonly findMethod: FindMethod;
}

/** Headers, and variables, that each call gets from the engine. */
const OWN = ['saga-id', 'saga-step', 'idempotency-key', 'saga-attempt', 'saga-fencing-token'];
/** Headers that follow from the body. */
const OF_BODY = ['content-length', 'transfer-encoding', 'host', 'connection', 'expect', 'upgrade'];

/** Reports combinations in requests and commands that the format cannot express. */
export function checkCalls(file: SagaFile, root: Located, report: ReportAt): void {
  for (const [step, { resultSchema, message }] of file.steps) {
    if (resultSchema === undefined || !message || message.reply) continue;
    const at = placeOf(root, ['steps', step, 'resultSchema']);
    report(at, 'a message without reply has no result', 'remove it');
  }
  for (const { call, path } of callsOf(file)) checkCall(call, path, root, report);
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

/** Reports secrets, variables, methods and files that do not exist. */
export function checkSurroundings(
  file: string,
  read: SagaFile,
  root: Located,
  { environment, checkEnvironment, findMethod }: FileSurroundings,
  report: ReportAt,
): void {
  const { secrets = new Map<string, string>() } = read;
  const calls = callsOf(read);
  const used = calls.flatMap(({ call: { http, exec, call } }) => expressionsOf([http, exec, call]));
  for (const { at, secrets: asked } of used)
    for (const name of asked.filter((one) => !secrets.has(one)))
      report(at, `unknown secret '${name}'`, suggestion(name, secrets.keys(), 'add it to secrets'));
  if (!checkEnvironment) return;
  for (const { call, path } of calls) {
    const found = call.call && findMethod(call.call.method);
    if (typeof found === 'string')
      report(placeOf(root, [...path, 'call', 'method']), found, 'correct the name');
  }
  const missing = new Set<string>();
  for (const { at, env } of used) {
    for (const name of env.filter((one) => environment[one] === undefined && !missing.has(one))) {
      missing.add(name);
      report(at, `the environment variable ${name} is not set`, 'set it, also to an empty text');
    }
  }
  const checkFile = (path: string, keys: readonly string[], what: string): void => {
    try {
      accessSync(resolve(dirname(resolve(file)), path), constants.R_OK);
    } catch {
      report(placeOf(root, keys), `the file of ${what} cannot be read`, 'create it, or correct the path');
    }
  };
  for (const [name, path] of secrets) checkFile(path, ['secrets', name], `the secret '${name}'`);
  for (const { call, path } of calls) {
    const files = Object.entries<TextTemplate>(call.http?.tls ?? {});
    for (const [name, { parts }] of files) {
      const [constant, more] = parts;
      // The path of any other file is known once its expressions are evaluated.
      if (typeof constant === 'string' && more === undefined && !isPem(constant))
        checkFile(constant, [...path, 'http', 'tls', name], `tls.${name}`);
    }
  }
}
