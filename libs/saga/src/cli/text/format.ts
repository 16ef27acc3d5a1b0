import type { SagaFailure } from '../../definition/types/saga-failure.js';
import type { SagaOutcome, WaitingFor } from '../../nest/views/saga-snapshot.js';
import { EXIT } from '../command.js';

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;

/** `340ms`, `2.5s`, `4m 10s`, `3h 5m`, `2d 4h`: two units are enough to know. */
export function durationText(milliseconds: number): string {
  const ms = Math.max(0, Math.round(milliseconds));
  if (ms < 1_000) return `${ms}ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10}s`;
  let rest = ms;
  const parts = Object.entries(UNITS).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.slice(0, 2).join(' ');
}

/** `4m 10s ago`, `in 20s`. */
export function fromNow(time: Date, now: number): string {
  const ago = now - time.getTime();
  return ago >= 0 ? `${durationText(ago)} ago` : `in ${durationText(-ago)}`;
}

/** A word in front of it, and when it will be, or was. */
function at(word: string, time: Date, now: number): string {
  return `${word} ${time.toISOString()} (${fromNow(time, now)})`;
}

/** Why a saga does not move, as a sentence without its end. */
export function waitingText(waiting: WaitingFor, now: number): string {
  const until = (time: Date | undefined) => (time ? `, ${at('until', time, now)}` : '');
  switch (waiting.kind) {
    case 'retry':
      return `another attempt at step '${waiting.step}', ${at('at', waiting.at, now)}`;
    case 'delay': {
      const what = waiting.step === undefined ? 'its start time' : `the delay of step '${waiting.step}'`;
      return `${what}${until(waiting.until)}`;
    }
    case 'worker':
      return `a worker, ${at('since', waiting.since, now)}: the workers are busy or stopped, or none has this version`;
    case 'version':
      return `a worker that has ${waiting.saga}@${waiting.version}, ${at('since', waiting.since, now)}`;
    case 'concurrency':
      return `its turn, ${at('since', waiting.since, now)}: ${waiting.limit} sagas of its name are running, which is its concurrency`;
    case 'lock':
      return `the lock '${waiting.key}', which saga ${waiting.holder} holds`;
    case 'sub-saga':
      return `saga ${waiting.id}, which step '${waiting.step}' started`;
    case 'remote-step':
      return `handler '${waiting.handler}' of step '${waiting.step}', which is running (saga ${waiting.id})`;
    case 'handler': {
      const who = waiting.deployed
        ? 'the processes that have it are stopped or busy'
        : 'no process that has it was ever started';
      return `a worker with handler '${waiting.handler}' for step '${waiting.step}', ${at('since', waiting.since, now)}: ${who}`;
    }
    case 'signal':
      return `the signal '${waiting.signal}' for step '${waiting.step}'${until(waiting.until)}`;
    case 'approval':
      return `an operator to approve or reject step '${waiting.step}'${until(waiting.until)}`;
    case 'paused': {
      const by = waiting.by === undefined ? '' : ` by ${waiting.by}`;
      const why = waiting.reason ? `: ${oneLine(waiting.reason)}` : '';
      return `an operator to resume it: paused${by}${why}`;
    }
    case 'person':
      return waiting.steps.length > 0
        ? `an operator: needs attention at step '${waiting.steps.join("', '")}'`
        : 'an operator: needs attention';
  }
}

/** Returns the failure that made the saga compensate or stop. */
export function failureText({ kind, step, error, reason }: SagaFailure): string {
  const where = step === undefined ? '' : ` in step '${step}'`;
  const why = error?.message ?? reason;
  return `${kind}${where}${why === undefined ? '' : `: ${oneLine(why)}`}`;
}

export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** What a saga came to, as the exit code of who waited for it. */
export function exitOf({ status }: Pick<SagaOutcome, 'status'>): number {
  return status === 'completed' ? EXIT.done : EXIT.refused;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
