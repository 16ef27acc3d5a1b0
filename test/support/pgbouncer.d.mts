/** Where pgbouncer is, if it is installed. */
export function findPgbouncer(): string | undefined;

/** In transaction mode, with fewer connections than those who use it, before the database of this URL. */
export function startPgbouncer(binary: string, url: string): Promise<{ url: string; stop(): Promise<void> }>;
