/** The command was called in a way that it does not understand; its usage is shown. */
export class UsageError extends Error {}
