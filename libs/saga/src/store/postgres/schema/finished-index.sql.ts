/**
 * For deletion by age, oldest first, of each name: those that have ended, without those that others started. It costs a
 * saga of three empty steps 4 % of the server's CPU and of the log, when it ends, so it is there only where something is
 * deleted: whoever first deletes makes it, and holds up nobody by that (CONCURRENTLY). To walk the primary key by the time
 * in its ids would cost nothing, but reads whatever is kept there (long-running ones, names with a longer retention) again
 * each time, and misses ids that users gave; BRIN degenerates once deleted rows' places are used again.
 */
export const finishedIndexSql = (schema: string, how: '' | 'CONCURRENTLY'): string =>
  `CREATE INDEX ${how} IF NOT EXISTS instance_finished ON "${schema}".instance (name, finished_at) ` +
  'WHERE finished_at IS NOT NULL AND parent_id IS NULL';
