import { serializeError } from '../payload/serialize-error.js';

/** What a line of the log is about, for logs that keep fields. */
export interface LogSubject {
  readonly sagaId?: string;
  /** The saga's name. */
  readonly saga?: string;
  /** The step's name, or the item's key. */
  readonly step?: string;
}

interface Subject {
  readonly id: string;
  readonly name: string;
}

export function subjectOf({ id, name }: Subject): LogSubject {
  return { sagaId: id, saga: name };
}

/** What the engine has to say to operators. The message says it all by itself. */
export interface EngineLog {
  debug(message: string, about?: LogSubject): void;
  log(message: string, about?: LogSubject): void;
  warn(message: string, about?: LogSubject): void;
  error(message: string, stack?: string, about?: LogSubject): void;
}

/** @param what went wrong, before the error's message */
export function logErrorOf(saga: Subject, error: unknown, log: EngineLog, what = ''): void {
  log.error(`Saga ${saga.id}: ${what}${serializeError(error).message}`, undefined, subjectOf(saga));
}
