import type { ProgressSnapshot, SagaFailure, SagaOutcome } from 'nestjs-durable-saga';
import { oneLine } from 'nestjs-durable-saga/internal';
import { EXIT } from '../command.js';

/** Returns the failure that made the saga compensate or stop. */
export function failureText({ kind, step, error, reason }: SagaFailure): string {
  const where = step === undefined ? '' : ` in step '${step}'`;
  const why = error?.message ?? reason;
  return `${kind}${where}${why === undefined ? '' : `: ${oneLine(why)}`}`;
}

/** What a saga came to, as the exit code of who waited for it. */
export function exitOf({ status }: Pick<SagaOutcome, 'status'>): number {
  return status === 'completed' ? EXIT.done : EXIT.refused;
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What a step reported of its progress, in words: `43 %, line 4,300`. */
export function describeProgress({
  percent,
  message,
}: Pick<ProgressSnapshot, 'percent' | 'message'>): string {
  const done = percent === undefined ? undefined : `${Math.floor(percent)} %`;
  return [done, message && oneLine(message)].filter(Boolean).join(', ');
}
