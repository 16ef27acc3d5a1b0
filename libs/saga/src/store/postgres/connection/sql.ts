/** Runs statements: each in its own transaction, or all in one. */
export interface Sql {
  /** Runs a statement and returns its rows. */
  query<Rows = unknown>(text: string, parameters?: unknown[]): Promise<Rows>;
}
