import type { PostgresRates, SagaRate, StepRate } from '../../store/postgres/read/postgres-rates.js';
import type { ShardRuntime } from './shard-runtime.js';

type Rates = Pick<PostgresRates, 'sagas' | 'steps'>;
type SagaRow = SagaRate & { readonly bucket: number; readonly complete: boolean };
type StepRow = StepRate & { readonly bucket: number };

/**
 * The outcome of the sagas of all shards that can be reached. Counts are exact. Of durations, each shard knows its own
 * percentiles: p50 is their mean, weighted by the counts, and p95 the highest one.
 */
export class ShardedRates implements Rates {
  constructor(private readonly shards: readonly ShardRuntime[]) {}

  readonly sagas: Rates['sagas'] = async (...query) => {
    const rows = await this.all((rates) => rates.sagas(...query));
    return merged(rows, ({ bucket, saga }) => `${bucket} ${saga}`, mergedSaga);
  };

  readonly steps: Rates['steps'] = async (...query) => {
    const rows = await this.all((rates) => rates.steps(...query));
    return merged(rows, ({ bucket, step }) => `${bucket} ${step}`, mergedStep);
  };

  private async all<T>(query: (rates: PostgresRates) => Promise<T[]>): Promise<T[]> {
    const there = this.shards.flatMap(({ opened, shard }) =>
      opened && shard.health.reachable ? { opened, shard } : [],
    );
    const asked = there.map(({ opened, shard }) => shard.health.guard(() => query(opened.parts.rates)));
    return (await Promise.all(asked)).flat();
  }
}

function merged<T>(rows: readonly T[], keyOf: (row: T) => string, merge: (one: T, other: T) => T): T[] {
  const byKey = new Map<string, T>();
  for (const row of rows) {
    const before = byKey.get(keyOf(row));
    byKey.set(keyOf(row), before ? merge(before, row) : row);
  }
  return [...byKey.values()];
}

function mergedSaga(one: SagaRow, other: SagaRow): SagaRow {
  return {
    ...one,
    started: one.started + other.started,
    completed: one.completed + other.completed,
    turnedBack: one.turnedBack + other.turnedBack,
    needPerson: one.needPerson + other.needPerson,
    aborted: one.aborted + other.aborted,
    complete: one.complete && other.complete,
    ...durations([one, one.started], [other, other.started]),
  };
}

function mergedStep(one: StepRow, other: StepRow): StepRow {
  return {
    ...one,
    runs: one.runs + other.runs,
    failures: one.failures + other.failures,
    ...durations([one, one.runs], [other, other.runs]),
  };
}

type Percentiles = Pick<StepRate, 'p50' | 'p95'>;

function durations(...rows: (readonly [Percentiles, number])[]): Percentiles {
  const known = rows.filter(([{ p50 }]) => p50 !== undefined);
  const count = known.reduce((total, [, some]) => total + some, 0);
  if (count === 0) return {};
  return {
    p50: known.reduce((total, [{ p50 }, some]) => total + p50! * some, 0) / count,
    p95: Math.max(...known.map(([{ p95 }]) => p95!)),
  };
}
