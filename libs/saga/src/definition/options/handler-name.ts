import { LONGEST_NAME, SEPARATORS, UNREADABLE } from './option-reader.js';
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

/** Reports what is wrong with the name of a handler that a decorator was given. */
export function checkHandler(decorator: '@StepHandler' | '@RemoteStep', name: unknown, report: Report): void {
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
}
