import { type Select, setting } from './select.js';

/**
 * Returns a statement whose transaction does not wait for the disk. In the same round trip: what counts is the setting at
 * commit, so it does not matter when within the statement it is set.
 */
export const relaxed = (select: Select): Select => select.with(setting('synchronous_commit', `'off'`));

/**
 * Returns a call of a function, once those are fenced off whose last checkpoint is gone: FROM comes before what is selected.
 * @param parameters of the call
 */
export const fenced = (schema: string, select: Select, parameters: number): Select =>
  select.after(
    `${schema}.fence_lost($${parameters + 1}, $${parameters + 2}, $${parameters + 3}, $${parameters + 4})`,
  );
