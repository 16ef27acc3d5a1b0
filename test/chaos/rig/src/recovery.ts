import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';

/** Milliseconds between two looks. */
const LOOK = 50;

/**
 * Milliseconds from the end of a fault until every saga has ended that was there by then, and one that was
 * started
 * since, in each database. Infinity: not within `patience`.
 */
export async function recovered(databases: readonly pg.Pool[], patience: number): Promise<number> {
  return Math.max(...(await Promise.all(databases.map((sagas) => recoveredIn(sagas, patience)))));
}

async function recoveredIn(sagas: pg.Pool, patience: number): Promise<number> {
  const began = performance.now();
  let until: Date | undefined;
  while (performance.now() - began < patience) {
    try {
      until ??= (await sagas.query<{ now: Date }>('SELECT now()')).rows[0]!.now;
      if (await isAsBefore(sagas, until)) return performance.now() - began;
    } catch {
      // The fault may have been one of the server, which is not up yet.
    }
    await sleep(LOOK);
  }
  return Infinity;
}

/** Resolves once every saga has ended or needs an operator, and after `patience` at the latest. */
export async function ended(sagas: pg.Pool, patience: number): Promise<void> {
  const deadline = performance.now() + patience;
  while (performance.now() < deadline) {
    const { rowCount } = await sagas.query(
      `SELECT FROM saga.instance WHERE finished_at IS NULL AND status NOT IN ('stuck', 'suspended') LIMIT 1`,
    );
    if (rowCount === 0) return;
    await sleep(LOOK);
  }
}

async function isAsBefore(sagas: pg.Pool, until: Date): Promise<boolean> {
  const { rows } = await sagas.query<{ so: boolean }>(
    `SELECT NOT EXISTS (SELECT FROM saga.instance WHERE finished_at IS NULL AND created_at <= $1
         AND status NOT IN ('stuck', 'suspended'))
       AND EXISTS (SELECT FROM saga.instance WHERE finished_at IS NOT NULL AND created_at > $1) AS so`,
    [until],
  );
  return rows[0]!.so;
}
