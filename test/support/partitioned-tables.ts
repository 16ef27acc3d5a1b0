import { randomUUID } from 'node:crypto';
import { PARTITIONED } from '../../libs/saga/src/store/postgres/schema/tables/table-facts.js';
import { databaseParts } from './database-parts.js';
import { until } from './gate.js';
import type { TestApp, TestApps } from './test-app.js';

export const DAY = 86_400_000;

/** What its workers do once a minute. */
export async function upkeep(app: TestApp): Promise<void> {
  const { partitions, cleanup } = await databaseParts(app.nest);
  await partitions.tick();
  await cleanup.tick();
}

/**
 * As many passes as that takes: one passes over what another transaction has locked for a moment, such as an autovacuum or a
 * poll.
 */
export function upkeepUntil(app: TestApp, isDone: () => Promise<boolean>): Promise<boolean> {
  return until(async () => {
    await upkeep(app);
    return isDone();
  });
}

export const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10).replaceAll('-', '');

/** A UUIDv7 of so many days ago. */
export function idOf(daysAgo: number): string {
  const time = Math.floor(Date.now() - daysAgo * DAY);
  return `${time
    .toString(16)
    .padStart(12, '0')
    .replace(/(.{8})/, '$1-')}-7${randomUUID().slice(15)}`;
}

/** The sagas' tables of the applications of a spec, in partitions. */
export class PartitionedTables {
  constructor(private readonly apps: TestApps) {}

  /** The partition of so many days ago, of each table, as it would have been made then. */
  async make(daysAgo: number): Promise<string> {
    const from = Math.floor((Date.now() - daysAgo * DAY) / DAY) * DAY;
    const name = dayOf(from);
    for (const { table } of PARTITIONED)
      await this.apps.sql(
        `DO $$ BEGIN EXECUTE format('CREATE TABLE saga.${table}_${name} PARTITION OF saga.${table} FOR VALUES FROM (%L) TO (%L)',
           saga.partition_bound(${from}), saga.partition_bound(${from + DAY})); END $$`,
      );
    return name;
  }

  async takeAway(name: string): Promise<void> {
    for (const { table } of PARTITIONED) await this.apps.sql(`DROP TABLE saga.${table}_${name}`);
  }

  async of(table = 'instance'): Promise<string[]> {
    const rows = await this.apps.sql<{ name: string }>(
      `SELECT substring(inhrelid::regclass::text FROM '_(\\w+)$') AS name FROM pg_inherits
       WHERE inhparent = to_regclass('saga.${table}') ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  }

  /** The upkeep of some minutes, in which this partition has to go. */
  drop(app: TestApp, name: string): Promise<boolean> {
    return upkeepUntil(app, async () => !(await this.of()).includes(name));
  }

  /** The partition that a saga is in. */
  async placeOf(id: string): Promise<string> {
    const rows = await this.apps.sql<{ at: string }>(
      `SELECT tableoid::regclass::text AS at FROM saga.instance WHERE id = $1`,
      [id],
    );
    return rows.map(({ at }) => at).join();
  }

  /** They ended as long ago as their ids tell that they began. */
  async endedThen(ids: readonly string[]): Promise<void> {
    await this.apps.sql(
      `UPDATE saga.instance SET finished_at =
         to_timestamp(('x0000' || substring(replace(id::text, '-', '') FOR 12))::bit(64)::bigint / 1000.0)
       WHERE id = ANY($1)`,
      [ids],
    );
  }
}
