import type { AttemptError, SerializedError } from '../../../definition/types/saga-failure.js';
import { attemptError, errorOf, isSameError } from '../../../machine/attempt-errors.js';
import type { RepeatedError } from '../../../machine/step-notes.js';

/**
 * An error as a step's row has it. `frames` is a stack without its first line, which is the name and the message again, and
 * without what each other line begins with.
 */
type ErrorJson = Omit<SerializedError, 'cause'> & {
  readonly frames?: string;
  readonly cause?: ErrorJson;
};

/**
 * An error of an attempt as a step's row has it. `at` is milliseconds since the epoch, or a time that is in another form. Without `during`, it
 * was an attempt of the step. What fails is written more than once, so each byte counts.
 */
type AttemptJson = ErrorJson & {
  readonly attempt: number;
  readonly at: number | string;
  readonly during?: AttemptError['during'];
};

/** The errors of a step as its row has them; one that is the same as the one before by its attempt and its time only. */
export type ErrorsJson = readonly (AttemptJson | RepeatedError)[];

export function errorsToJson(errors: readonly AttemptError[]): ErrorsJson {
  return errors.map((error, n) => {
    const before = errors[n - 1];
    return (before && isSameError(error, before) && repeatOf(error)) || attemptToJson(error);
  });
}

export function errorsOfJson(json: ErrorsJson): AttemptError[] {
  const errors: AttemptError[] = [];
  for (const one of json)
    errors.push(isRepeat(one) ? attemptError(errors.at(-1)!, ...one) : attemptOfJson(one));
  return errors;
}

/** Undefined: its time is in another form. */
function repeatOf({ attempt, at, during }: AttemptError): RepeatedError | undefined {
  const time = timeToJson(at);
  return typeof time === 'number' ? [attempt, time, during] : undefined;
}

function isRepeat(one: ErrorsJson[number]): one is RepeatedError {
  return Array.isArray(one);
}

function timeToJson(at: string): number | string {
  const time = Date.parse(at);
  return Number.isFinite(time) && new Date(time).toISOString() === at ? time : at;
}

const firstLineOf = ({ name, message }: Pick<SerializedError, 'name' | 'message'>): string =>
  `${name}: ${message}\n`;
const LINE = '    at ';

/** Undefined: it has another form. */
function framesOf(error: SerializedError): string | undefined {
  const first = firstLineOf(error);
  if (!error.stack?.startsWith(first)) return undefined;
  const lines = error.stack.slice(first.length).split('\n');
  return lines.every((line) => line.startsWith(LINE))
    ? lines.map((line) => line.slice(LINE.length)).join('\n')
    : undefined;
}

function stackOf(json: ErrorJson, frames: string): string {
  return firstLineOf(json) + LINE + frames.replaceAll('\n', `\n${LINE}`);
}

function toJson(error: SerializedError): ErrorJson {
  const { name, message, code, stack, cause } = error;
  const frames = framesOf(error);
  return {
    name,
    message,
    code,
    frames,
    stack: frames === undefined ? stack : undefined,
    cause: cause && toJson(cause),
  };
}

function attemptToJson(error: AttemptError): AttemptJson {
  const { attempt, at, during } = error;
  const inRow = during === 'step' ? undefined : during;
  return Object.assign(toJson(error), { attempt, at: timeToJson(at), during: inRow });
}

function attemptOfJson(json: AttemptJson): AttemptError {
  const { attempt, at, during = 'step' } = json;
  const time = typeof at === 'number' ? new Date(at).toISOString() : at;
  return Object.assign(ofJson(json), { attempt, at: time, during });
}

function ofJson(json: ErrorJson): SerializedError {
  const { name, message, code, frames, cause } = json;
  const stack = frames === undefined ? json.stack : stackOf(json, frames);
  return errorOf({ name, message, code, stack, cause: cause && ofJson(cause) });
}
