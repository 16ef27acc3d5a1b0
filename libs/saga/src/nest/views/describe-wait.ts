import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';
import type { WaitingFor } from './saga-snapshot.js';

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
  switch (waitingFor.kind) {
    case 'retry':
      return `another attempt at step '${waitingFor.step}', ${at('at', waitingFor.at)}`;
    case 'delay':
      return `${delayed(waitingFor.step)}${until(waitingFor.until)}`;
    case 'rate-limit':
      return `the rate limit of ${waitingFor.step === undefined ? 'its name' : `step '${waitingFor.step}'`}${ofKey(waitingFor.key)}${until(waitingFor.until)}`;
    case 'worker':
      return `a worker, ${at('since', waitingFor.since)}: the workers are busy or stopped, or none has this version`;
    case 'version':
      return `a worker that has ${waitingFor.saga}@${waitingFor.version}, ${at('since', waitingFor.since)}`;
    case 'concurrency':
      if (waitingFor.step !== undefined) return slotOf(waitingFor, at('since', waitingFor.since));
      return `its turn${ofKey(waitingFor.key)}, ${at('since', waitingFor.since)}: ${waitingFor.limit} sagas of its ${waitingFor.key === undefined ? 'name' : 'key'} are running, which is its concurrency`;
    case 'lock':
      return `the lock '${waitingFor.key}', which saga ${waitingFor.holder} holds`;
    case 'sub-saga':
      return `saga ${waitingFor.id}, which step '${waitingFor.step}' started`;
    case 'remote-step':
      return `handler '${waitingFor.handler}' of step '${waitingFor.step}', which is running (saga ${waitingFor.id})`;
    case 'handler':
      return `a worker with handler '${waitingFor.handler}' for step '${waitingFor.step}', ${at('since', waitingFor.since)}: ${handlerIs(waitingFor.deployed)}`;
    case 'signal':
      return `the signal '${waitingFor.signal}' ${waitingFor.during ? 'that confirms the compensation of' : 'for'} step '${waitingFor.step}'${until(waitingFor.until)}`;
    case 'approval':
      return `${approver(waitingFor)} to approve or reject step '${waitingFor.step}'${until(waitingFor.until)}`;
    case 'paused-step':
      return `an operator to resume step '${waitingFor.step}', ${at('since', waitingFor.since)}: paused${pausedBy(waitingFor)}`;
    case 'paused':
      return `an operator to resume it: paused${pausedBy(waitingFor)}`;
    case 'person':
      return `an operator${needingAttention(waitingFor.steps)}`;
    default:
      return kindOf(waitingFor);
  }
}

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

/** Only a snapshot of a later version of this package has another kind: the compiler checks that none is left out. */
function kindOf(other: never): string {
  return (other as WaitingFor).kind;
}
