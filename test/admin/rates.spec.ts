import { DataSource } from 'typeorm';
import { PostgresRates } from '../../libs/saga/src/store/postgres/read/postgres-rates.js';
import { sagaRatesSql, stepRatesSql } from '../../libs/saga/src/store/postgres/read/rates.sql.js';
import { AdminApps } from './support/admin-apps.js';
import { DOWN, GrantCreditSaga, order, PlaceOrderSaga, stuckOrder } from './support/shop.js';

const apps = AdminApps.onOwnDatabase();
const HOUR = 3_600_000;

interface Rates {
  readonly bucket: number;
  readonly buckets: readonly { from: string; complete: boolean; sagas: object[]; steps: object[] }[];
}

afterEach(() => DOWN.clear());

describe('rates', () => {
  test('report the outcomes of started sagas, their durations, and which steps failed', async () => {
    const { sagas, operations, client } = await apps.start({ sagas: [PlaceOrderSaga, GrantCreditSaga] });
    for (const fails of [undefined, undefined, 'charge'] as const)
      await (await sagas.start(PlaceOrderSaga, order({ fails }))).outcome();
    await stuckOrder(sagas);
    await operations.abort((await sagas.start(GrantCreditSaga, {})).id);
    await sagas.start(GrantCreditSaga, {});

    const { bucket, buckets } = (await client.get('/api/rates?hours=2&buckets=4')).body as Rates;
    expect([bucket, buckets.length]).toEqual([HOUR / 2, 4]);
    expect(buckets.map(({ from }) => new Date(from).getTime() % (HOUR / 2))).toEqual([0, 0, 0, 0]);
    const took = { p50: expect.any(Number), p95: expect.any(Number) };
    const none = { completed: 0, turnedBack: 0, needPerson: 0, aborted: 0 };
    // The test may run while a bucket ends.
    const counts = buckets.flatMap((one) => one.sagas);
    expect(counts).toEqual([
      { ...none, saga: 'grant-credit', started: 2, aborted: 1, ...took },
      { ...none, saga: 'place-order', started: 4, completed: 2, turnedBack: 1, needPerson: 1, ...took },
    ]);

    const one = (await client.get('/api/rates?saga=place-order&hours=2&buckets=1')).body as Rates;
    expect(one.buckets[0]!.sagas).toHaveLength(1);
    expect(one.buckets[0]!.steps).toEqual([
      { step: 'chargeCard', runs: 4, failures: 1, ...took },
      { step: 'confirm', runs: 2, failures: 0, ...took },
      { step: 'printLabel', runs: expect.any(Number), failures: 0, ...took },
      { step: 'reserveStock', runs: 4, failures: 1, ...took },
      { step: 'ship', runs: 3, failures: 1, ...took },
    ]);
  });

  test('look at so many sagas of each bucket at most, and say so', async () => {
    const { sagas, nest } = await apps.start({ sagas: [PlaceOrderSaga] });
    for (let n = 0; n < 3; n++) await (await sagas.start(PlaceOrderSaga, order())).outcome();
    const [begin, length] = [Date.now() - HOUR, 2 * HOUR];
    const ask = (most: number) =>
      new PostgresRates(nest.get(DataSource), 'saga', most).sagas([begin], length);
    expect(await ask(2)).toMatchObject([{ started: 2, complete: false }]);
    expect(await ask(4)).toMatchObject([{ started: 3, complete: true }]);
  });

  test('are read from the primary key, within bounds, whatever the table holds', async () => {
    const { sagas } = await apps.start({ sagas: [PlaceOrderSaga] });
    await (await sagas.start(PlaceOrderSaga, order())).outcome();
    await apps.sql(`INSERT INTO saga.instance (id, name, version, status, step, epoch, finished_at)
      SELECT (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - n * 100), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid,
        'old', 1, 'completed', '', 1, now() FROM generate_series(1, 20000) AS n`);
    await apps.sql('ANALYZE saga.instance');
    await apps.sql('ANALYZE saga.step');
    const now = Date.now();
    const first = (time: number) => {
      const hex = time.toString(16).padStart(12, '0');
      return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
    };
    const starts = Array.from({ length: 24 }, (_, n) => now - (24 - n) * HOUR);
    const ranges = [starts.map(first), starts.map((start) => first(start + HOUR))];
    for (const [sql, values] of [
      [sagaRatesSql('"saga"'), [...ranges, 100, null]],
      [stepRatesSql('"saga"'), [...ranges, 100, 'place-order', 10]],
    ] as const) {
      const rows = await apps.sql<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE) ${sql}`, [...values]);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('instance_pkey');
      expect(plan).not.toMatch(/Seq Scan on instance/);
      // No bucket is read further than its limit.
      const read = /instance_pkey on instance .*actual time=\S+ rows=([\d.]+) loops=(\d+)/.exec(plan)!;
      expect(Number(read[1])).toBeLessThanOrEqual(100);
      expect(Number(read[2])).toBe(24);
    }
  });
});
