/**
 * For the rest of a transaction (or session) in which processes that start together wait for each other: under the timeouts that a
 * server has for ordinary statements all but the first of them would fail to start.
 */
export async function disableTimeouts(
  sql: { query(text: string): Promise<unknown> },
  scope: 'LOCAL' | 'SESSION' = 'LOCAL',
): Promise<void> {
  await sql.query(`SET ${scope} lock_timeout = 0`);
  await sql.query(`SET ${scope} statement_timeout = 0`);
}
