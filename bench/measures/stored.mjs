// What is really there: nothing counts that the database does not have.
import { client } from '../lib/database.mjs';
import { sleep } from '../lib/figures.mjs';

const OF_THEM =
  'AND EXISTS (SELECT FROM saga.instance i WHERE i.id = s.saga_id AND i.name = $1 AND i.status = $2)';

/**
 * Counts the sagas of a name in the status, and their steps in the step status.
 * @param mixed whether the database has other sagas' steps as well; to tell them apart takes a join
 */
export async function counted(
  db,
  { name = 'plain', status = 'completed', stepStatus = ['completed'], mixed = false } = {},
) {
  const c = await client(db);
  const { rows } = await c.query(
    `SELECT (SELECT count(*)::int FROM saga.instance WHERE name = $1 AND status = $2) AS sagas,
       (SELECT count(*)::int FROM saga.step s WHERE s.status = ANY($3) ${mixed ? OF_THEM : ''}) AS steps`,
    [name, status, stepStatus],
  );
  await c.end();
  return rows[0];
}

/** Says what is missing, if something is. */
export async function allThere(db, { sagas, steps = 3 * sagas, ...of }) {
  const there = await counted(db, of);
  if (there.sagas === sagas && there.steps === steps) return true;
  console.error(
    `${sagas} sagas with ${steps} steps should be there; there are ${there.sagas} with ${there.steps}`,
  );
  return false;
}

/** The ids of one saga that has ended and of one that waits, to be copied. */
export async function oneOfEach({ db, service }, Ended, Waiting) {
  const ended = await service.start(Ended, { i: 0 });
  await ended.outcome();
  const { id } = await service.start(Waiting, { i: 0 });
  await untilIdle(db, id);
  return [ended.id, id];
}

async function untilIdle(db, id) {
  const c = await client(db);
  while ((await c.query('SELECT FROM saga.instance WHERE id = $1 AND rank_at IS NULL', [id])).rowCount === 0)
    await sleep(20);
  await c.end();
}
