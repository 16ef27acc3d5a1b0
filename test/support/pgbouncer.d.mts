/** Where pgbouncer is, if it is installed. */
export function findPgbouncer(): string | undefined;

/**
 * Before the database of this URL; by default in transaction mode. With fewer connections than those who use it, except
 * in session mode.
 */
export function startPgbouncer(
  binary: string,
  url: string,
  mode?: 'session' | 'transaction' | 'statement',
): Promise<{ url: string; stop(): Promise<void> }>;
