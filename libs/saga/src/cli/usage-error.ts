import type { Command } from './command.js';

/** The command was called in a way that it does not understand; its usage is shown. */
export class UsageError extends Error {
  readonly code = 'USAGE';

  constructor(
    message: string,
    readonly command?: Command,
  ) {
    super(message);
  }
}

/** What was asked for does not fit how things stand; nothing has happened. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

/** The result is unknown, or the command cannot run: for example, the database lacks tables. */
export class CannotTell extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}
