/**
 * The same statement, whose transaction does not wait for the disk. In the same round trip: what counts is the setting at
 * commit, so it does not matter when within the statement it is set.
 */
export const relaxedSql = (select: string): string =>
  select.replace('SELECT', `SELECT set_config('synchronous_commit', 'off', true),`);

/**
 * The same call of a function, once those are fenced off whose last checkpoint is gone: FROM comes before what is selected.
 * @param parameters of the call
 */
export const fencingSql = (schema: string, select: string, parameters: number): string =>
  `${select} FROM ${schema}.fence_lost_1($${parameters + 1}, $${parameters + 2}, $${parameters + 3})`;
