import type { AttemptError, SerializedError } from '../../../definition/types/saga-failure.js';
import { errorOf } from '../../../machine/attempt-error.js';
import { isSameError, repeated, type RepeatedError } from '../../../machine/step-notes.js';

/** An error as a step's row has it: `frames` is a stack without its first line, which is the name and the message again. */
type ErrorJson<E extends SerializedError> = Omit<E, 'cause'> & {
  readonly frames?: string;
  readonly cause?: ErrorJson<SerializedError>;
};

/** The errors of a step as its row has them; one that is the same as the one before by its attempt and its time only. */
export type ErrorsJson = readonly (ErrorJson<AttemptError> | RepeatedError)[];

export function errorsToJson(errors: readonly AttemptError[]): ErrorsJson {
  return errors.map((error, n) => {
    const before = errors[n - 1];
    return (before && isSameError(error, before) && repeatOf(error)) || toJson(error);
  });
}

export function errorsOfJson(json: ErrorsJson): AttemptError[] {
  const errors: AttemptError[] = [];
  for (const one of json) errors.push(isRepeat(one) ? repeated(errors.at(-1)!, one) : attemptOfJson(one));
  return errors;
}

/** Undefined: its time is in another form. */
function repeatOf({ attempt, at, during }: AttemptError): RepeatedError | undefined {
  const time = Date.parse(at);
  return Number.isFinite(time) && new Date(time).toISOString() === at ? [attempt, time, during] : undefined;
}

function isRepeat(one: ErrorsJson[number]): one is RepeatedError {
  return Array.isArray(one);
}

const firstLineOf = ({ name, message }: Pick<SerializedError, 'name' | 'message'>): string =>
  `${name}: ${message}\n`;

function toJson<E extends SerializedError>(error: E): ErrorJson<E> {
  const { stack, cause } = error;
  const first = firstLineOf(error);
  const json: Record<string, unknown> = Object.assign<Record<string, unknown>, E>({}, error);
  if (stack?.startsWith(first)) {
    json.stack = undefined;
    json.frames = stack.slice(first.length);
  }
  if (cause) json.cause = toJson(cause);
  return json as ErrorJson<E>;
}

function attemptOfJson(json: ErrorJson<AttemptError>): AttemptError {
  const { attempt, at, during } = json;
  return Object.assign(ofJson(json), { attempt, at, during });
}

function ofJson(json: ErrorJson<SerializedError>): SerializedError {
  const { name, message, code, frames, cause } = json;
  const stack = frames === undefined ? json.stack : firstLineOf(json) + frames;
  return errorOf({ name, message, code, stack, cause: cause && ofJson(cause) });
}
