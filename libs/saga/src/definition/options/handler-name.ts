import { LARGEST_COUNT, LONGEST_NAME, SEPARATORS, UNREADABLE } from './option-reader.js';
import type { Report } from '../../shared/diagnostic.js';
import { shown } from '../../shared/shown-value.js';

/** A step handler as those who ask for its work name it. */
export interface RemoteHandler {
  readonly name: string;
  /** The contract's input and result. */
  readonly version: number;
}

/** What the names of the sagas begin with in which handlers run; no other saga's may. */
export const HANDLER_PREFIX = 'handler:';

/** The name of the saga of one step in which a handler runs. */
export function handlerSaga(handler: string): string {
  return HANDLER_PREFIX + handler;
}

/** The handler that runs in a saga of this name; undefined: it is an ordinary one. */
export function handlerOf(saga: string): string | undefined {
  return saga.startsWith(HANDLER_PREFIX) ? saga.slice(HANDLER_PREFIX.length) : undefined;
}

/** Reports what is wrong with what a decorator was given as the name and the version of a handler. */
export function checkHandler(
  decorator: '@StepHandler' | '@RemoteStep',
  name: unknown,
  version: unknown,
  report: Report,
): void {
  const longest = LONGEST_NAME - HANDLER_PREFIX.length;
  if (typeof name !== 'string' || name.length === 0 || name.length > longest) {
    report(
      `${decorator} was given ${shown(name)} as the handler's name`,
      `give 1 to ${longest} characters, such as 'stock.reserve'`,
    );
  } else if (SEPARATORS.test(name) || UNREADABLE.test(name)) {
    report(
      `the handler's name ${shown(name)} contains characters that idempotency keys cannot contain`,
      "remove spaces, ':', '~', '[', ']' and control characters",
    );
  }
  if (!(Number.isInteger(version) && (version as number) >= 1 && (version as number) <= LARGEST_COUNT)) {
    report(`${decorator} version ${shown(version)} cannot be used`, 'give a whole number from 1');
  }
}
