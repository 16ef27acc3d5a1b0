/**
 * In partitions, a statement opens the partitions that its ids can be in, and not all. PostgreSQL can only tell by a
 * comparison with a value that is known before the statement begins: neither a join with the ids nor `= ANY` is one. Ids
 * ascend, so that their least one tells: there are few partitions of later days.
 */
export const LEAST_ID = 'least_id uuid;';

/** Sets it, from an array. There is no min(uuid) before PostgreSQL 19. */
export const setLeastId = (ids: string): string =>
  `least_id := (SELECT u.id FROM unnest(${ids}) u(id) ORDER BY u.id LIMIT 1);`;

/** True for each of the ids. */
export const isFromLeastId = (id: string): string => `${id} >= least_id`;
