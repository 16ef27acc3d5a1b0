import { REDACTED, redact } from '../../shared/redact.js';
import { type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { unicodeEscape } from '../../shared/unicode-escape.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import type { SagaState } from '../../machine/saga-state.js';
import { resultOf } from '../../machine/step-endings.js';
import { type EngineLog, subjectOf } from '../ports/engine-log.js';
import { latestError, type ObservedSaga } from './observed-changes.js';
import { permanentlyFailed } from '../operate/operator-edits.js';

/** Shorter values would be found in words that have nothing to do with them. */
const SHORTEST_SECRET = 3;
/** Control characters, line separators, and what turns the direction of text. */
// oxlint-disable-next-line no-control-regex -- they are what is escaped
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** A saga that has come to rest until an operator acts. */
export interface StoppedSaga {
  readonly saga: ObservedSaga;
  readonly state: SagaState;
  /** Undefined: this process does not have it, and so does not know what is to be redacted. */
  readonly graph: SagaGraph | undefined;
}

/**
 * One line for a saga that has become stuck or suspended: where, why, and what to do.
 * @param showsMessages false: what errors say is not to be seen, as where a codec encodes it in the database
 */
export function logAttention(stopped: StoppedSaga, showsMessages: boolean, log: EngineLog): void {
  const { saga, state, graph } = stopped;
  const steps = permanentlyFailed({ state }, graph);
  const cause = latestError(state, steps);
  const shows = showsMessages && graph !== undefined;
  const why = cause && (shows ? `${nameOf(cause)}: ${messageOf(cause, stopped)}` : nameOf(cause));
  const direction = state.heldPhase === 'compensating' ? ', while compensating' : '';
  const where = steps.length === 0 ? '' : ` at ${steps.map((step) => `'${step}'`).join(', ')}`;
  log.error(
    `Saga ${saga.id} (${sagaLabel(saga)}) is ${state.status}${where}${direction}${why ? `: ${why}` : ''}. ` +
      `It needs an operator. To see it: npx saga show ${saga.id}. To try again once the cause is fixed: ` +
      `npx saga retry ${saga.id}.${skipHint(saga.id, steps)}`,
    undefined,
    { ...subjectOf(saga), ...(steps.length === 1 && { step: steps[0] }) },
  );
}

function skipHint(id: string, [step]: readonly string[]): string {
  return step === undefined ? '' : ` To mark the step as done elsewhere: npx saga resolve ${id} ${step}.`;
}

function nameOf({ name, code }: SerializedError): string {
  return escaped(code === undefined ? name : `${name} (${code})`);
}

function messageOf({ message }: SerializedError, { saga, state, graph }: StoppedSaga): string {
  const paths = graph?.redact ?? [];
  const payloads =
    paths.length === 0 ? [] : [saga.input, ...[...state.steps.keys()].map((key) => resultOf(state, key))];
  const secrets = payloads.flatMap((text) => (text === undefined ? [] : secretsIn(JSON.parse(text), paths)));
  secrets.sort((a, b) => b.length - a.length);
  return escaped(secrets.reduce((text, secret) => text.replaceAll(secret, REDACTED), message)).replace(
    /\.$/,
    '',
  );
}

/** The texts of a payload that are never shown. */
function secretsIn(payload: unknown, paths: readonly string[]): string[] {
  const texts = new Set<string>();
  collect(payload, redact(payload, paths), false, texts);
  return [...texts].filter((text) => text.length >= SHORTEST_SECRET);
}

function collect(value: unknown, shown: unknown, isSecret: boolean, into: Set<string>): void {
  const hidden = isSecret || (shown === REDACTED && value !== REDACTED);
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value))
      collect(inner, hidden ? undefined : (shown as Record<string, unknown>)[key], hidden, into);
  } else if (hidden && (typeof value === 'string' || typeof value === 'number')) into.add(String(value));
}

function escaped(text: string): string {
  return text.replace(CONTROLS, unicodeEscape);
}
