import type { Sql } from '../connection/sql.js';
import { sagaRatesSql, stepRatesSql } from './rates.sql.js';
import { type Nullable, withoutNulls } from './without-nulls.js';

/** Sagas of a name that were started in a time. Those that are neither ended nor in need of an operator are the rest. */
export interface SagaRate {
  readonly saga: string;
  readonly started: number;
  readonly completed: number;
  /** Undone, or being undone. */
  readonly turnedBack: number;
  /** Stuck, suspended or paused right now. */
  readonly needPerson: number;
  readonly aborted: number;
  /** Milliseconds from start to end, of those that ended: the median; absent: none has. */
  readonly p50?: number;
  readonly p95?: number;
}

export interface StepRate {
  readonly step: string;
  readonly runs: number;
  /** Runs of which an attempt failed, or one of undoing it. */
  readonly failures: number;
  /** Milliseconds from its first attempt to its result: the median. */
  readonly p50?: number;
  readonly p95?: number;
}

type InBucket<T> = T & { readonly bucket: number };

/** Sagas looked at in a bucket: enough for a median, and for a figure to be exact in most systems. */
export const SAGAS_PER_BUCKET = 1_000;
const SAGAS_WITH_STEPS_PER_BUCKET = 100;

/** The outcome of sagas by when they were started; bounded, whatever the tables hold. */
export class PostgresRates {
  private readonly schema: string;

  constructor(
    private readonly sql: Sql,
    schema: string,
    private readonly sagasPerBucket = SAGAS_PER_BUCKET,
  ) {
    this.schema = `"${schema}"`;
  }

  /**
   * @param starts of the buckets, milliseconds since the epoch; `length`: of each, in milliseconds
   * @returns `complete` false: more were started in the bucket than were looked at
   */
  async sagas(
    starts: readonly number[],
    length: number,
    saga?: string,
  ): Promise<InBucket<SagaRate & { readonly complete: boolean }>[]> {
    const values = [...ranges(starts, length), this.sagasPerBucket, saga ?? null];
    return this.rates(sagaRatesSql(this.schema), values);
  }

  /** The steps of one saga, in the same buckets. */
  async steps(starts: readonly number[], length: number, saga: string): Promise<InBucket<StepRate>[]> {
    const values = [...ranges(starts, length), this.sagasPerBucket, saga, SAGAS_WITH_STEPS_PER_BUCKET];
    return this.rates(stepRatesSql(this.schema), values);
  }

  private async rates<T extends object>(text: string, values: unknown[]): Promise<T[]> {
    const rows = await this.sql.query<Nullable<T>[]>(text, values);
    return rows.map((row) => withoutNulls(row));
  }
}

function ranges(starts: readonly number[], length: number): [string[], string[]] {
  return [starts.map(firstIdOf), starts.map((start) => firstIdOf(start + length))];
}

/** Below every UUIDv7 of this millisecond, and above all those before it. */
function firstIdOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
