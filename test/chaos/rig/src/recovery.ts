import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** Milliseconds between two looks. */
const LOOK = 50;

/**
 * Milliseconds from the end of a fault until every saga has ended that was there by then. Infinity: not within `patience`.
 */
export async function recovered(sagas: pg.Pool, patience: number): Promise<number> {
  const began = performance.now();
  let until: Date | undefined;
  while (performance.now() - began < patience) {
    try {
      until ??= (await sagas.query<{ now: Date }>('SELECT now()')).rows[0]!.now;
      if ((await unfinished(sagas, until)) === 0) return performance.now() - began;
    } catch {
      // The fault may have been one of the server, which is not up yet.
    }
    await sleep(LOOK);
  }
  return Infinity;
}

/** How many are there that were stored until then, and have not ended. */
async function unfinished(sagas: pg.Pool, until: Date): Promise<number> {
  const { rows } = await sagas.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM saga.instance
     WHERE status NOT IN ('completed', 'compensated', 'aborted', 'stuck', 'suspended') AND created_at <= $1`,
    [until],
  );
  return rows[0]!.n;
}
