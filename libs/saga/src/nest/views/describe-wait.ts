import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';
import type { WaitingFor } from './saga-snapshot.js';
import type { WaitName, WAITS } from './waiting-for.js';

/**
 * Describes what a saga waits for, as the rest of the sentence "It waits for …". The command line, the dashboard and the
 * REST API use the same text. Times are in ISO 8601, UTC. The text is for operators. It is not stable enough to compare:
 * compare `waitingFor.kind`.
 * @param waitingFor of a `SagaSnapshot`
 * @param now if it is given, each time is followed by its distance from it: `(in 4m 10s)`
 */
export function describeWait(waitingFor: WaitingFor, now?: Date): string {
  const at = (word: string, time: Date) =>
    `${word} ${time.toISOString()}${now ? ` (${fromNow(time, now.getTime())})` : ''}`;
  const until = (time: Date | undefined) => (time ? `, ${at('until', time)}` : '');
  // Only a snapshot of a later version of this package has another kind.
  const sentence = SENTENCES[waitingFor.kind] as Sentence<WaitingFor> | undefined;
  return sentence?.(waitingFor, { at, until }) ?? waitingFor.kind;
}

interface Times {
  readonly at: (word: string, time: Date) => string;
  readonly until: (time: Date | undefined) => string;
}

type Sentence<W> = (wait: W, times: Times) => string;

/** The kinds that the table of waits has. */
type Kind = (typeof WAITS)[WaitName]['kind'];

/** A kind without a row in the table of waits does not compile. */
const SENTENCES: {
  readonly [K in WaitingFor['kind']]: K extends Kind ? Sentence<Extract<WaitingFor, { kind: K }>> : never;
} = {
  retry: ({ step, at: time }, { at }) => `another attempt at step '${step}', ${at('at', time)}`,
  delay: ({ step, until: time }, { until }) => `${delayed(step)}${until(time)}`,
  'rate-limit': ({ step, key, until: time }, { until }) =>
    `the rate limit of ${step === undefined ? 'its name' : `step '${step}'`}${ofKey(key)}${until(time)}`,
  worker: ({ since }, { at }) =>
    `a worker, ${at('since', since)}: the workers are busy or stopped, or none has this version`,
  version: ({ saga, version, since }, { at }) =>
    `a worker that has ${saga}@${version}, ${at('since', since)}`,
  concurrency: (wait, { at }) => {
    const { step, key, limit, since } = wait;
    if (step !== undefined) return slotOf(wait, at('since', since));
    return `its turn${ofKey(key)}, ${at('since', since)}: ${limit} sagas of its ${key === undefined ? 'name' : 'key'} are running, which is its concurrency`;
  },
  lock: ({ key, holder }) => `the lock '${key}', which saga ${holder} holds`,
  'sub-saga': ({ id, step }) => `saga ${id}, which step '${step}' started`,
  'remote-step': ({ handler, step, id }) =>
    `handler '${handler}' of step '${step}', which is running (saga ${id})`,
  handler: ({ handler, step, since, deployed }, { at }) =>
    `a worker with handler '${handler}' for step '${step}', ${at('since', since)}: ${handlerIs(deployed)}`,
  signal: ({ signal, during, step, until: time }, { until }) =>
    `the signal '${signal}' ${during ? 'that confirms the compensation of' : 'for'} step '${step}'${until(time)}`,
  approval: (wait, { until }) =>
    `${approver(wait)} to approve or reject step '${wait.step}'${until(wait.until)}`,
  'paused-step': (wait, { at }) =>
    `an operator to resume step '${wait.step}', ${at('since', wait.since)}: paused${pausedBy(wait)}`,
  paused: (wait) => `an operator to resume it: paused${pausedBy(wait)}`,
  person: ({ steps }) => `an operator${needingAttention(steps)}`,
};

function approver({ quorum, approvals = [] }: WaitingFor & { kind: 'approval' }): string {
  if (quorum === undefined) return 'an operator';
  const who = approvals.length > 0 ? `: ${approvals.map(({ by }) => by).join(', ')}` : '';
  return `operators (${approvals.length} of ${quorum} have approved${who})`;
}

function slotOf({ step, key, limit }: WaitingFor & { kind: 'concurrency' }, since: string): string {
  const which = key === undefined ? 'it' : 'this key';
  const why =
    limit === undefined ? '' : `: ${limit} attempts of ${which} are in progress, which is its concurrency`;
  return `a slot of step '${step}'${ofKey(key)}, ${since}${why}`;
}

function ofKey(key: string | undefined): string {
  return key === undefined ? '' : ` for '${oneLine(key)}'`;
}

function delayed(step: string | undefined): string {
  return step === undefined ? 'its start time' : `the delay of step '${step}'`;
}

function handlerIs(deployed: boolean): string {
  return deployed
    ? 'the processes that have it are stopped or busy'
    : 'no process that has it was ever started';
}

function needingAttention(steps: readonly string[]): string {
  if (steps.length === 0) return '';
  const [subject, verb] = steps.length === 1 ? ['step', 'needs'] : ['steps', 'need'];
  return `: ${subject} '${steps.join("', '")}' ${verb} attention`;
}

function pausedBy({ by, reason }: { readonly by?: string; readonly reason?: string }): string {
  return `${by === undefined ? '' : ` by ${by}`}${reason ? `: ${oneLine(reason)}` : ''}`;
}
