/**
 * Raised by what needs READ COMMITTED and finds another level: see lock-queue.function.ts. Nothing was done.
 * A class of our own: PostgreSQL's begin with 0 to 4 and A to H.
 */
export const NOT_READ_COMMITTED = 'SG001';

/** In SQL: is this transaction at another level than the engine's? */
export const IS_RAISED = `current_setting('transaction_isolation') <> 'read committed'`;
