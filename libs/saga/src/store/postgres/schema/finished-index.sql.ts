/**
 * The index for deletion by age, oldest first, of each name: ended sagas without a parent. It costs a saga of three
 * empty steps 4 % of the server's CPU and of the log, when it ends. So it exists only if something is deleted: the
 * first deletion makes it, and blocks no writer (CONCURRENTLY). To walk the primary key by the time in its ids would
 * cost nothing. But it would read whatever is kept there (long-running sagas, names with a longer retention) again each
 * time, and miss ids that users gave. BRIN degenerates once the space of deleted rows is used again.
 */
export const finishedIndexSql = (schema: string, how: '' | 'CONCURRENTLY'): string =>
  `CREATE INDEX ${how} IF NOT EXISTS instance_finished ON "${schema}".instance (name, finished_at) ` +
  'WHERE finished_at IS NOT NULL AND parent_id IS NULL';
