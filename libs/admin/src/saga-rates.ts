import { Inject, Injectable } from '@nestjs/common';
import type { SagaRate, StepRate } from 'nestjs-durable-saga/internal/runtime';
import { AdminRuntime } from './admin.runtime.js';

export interface RatesAsked {
  readonly saga?: string;
  readonly hours: number;
  readonly buckets: number;
}

/** Sagas by when they were started. */
export interface Rates {
  readonly from: Date;
  readonly to: Date;
  /** With `forRoot({ readFrom })`: the time whose commits they show. Undefined: they are from the primary. */
  readonly asOf?: Date;
  /** Milliseconds. */
  readonly bucket: number;
  readonly buckets: readonly RateBucket[];
}

export interface RateBucket {
  readonly from: Date;
  /** False: more were started in it than are looked at; the figures are of the first ones. */
  readonly complete: boolean;
  readonly sagas: readonly SagaRate[];
  /** Where one saga was asked about. */
  readonly steps: readonly StepRate[];
}

/** Returns how many sagas were started, their outcomes and their durations, over time. */
@Injectable()
export class SagaRates {
  constructor(@Inject(AdminRuntime) private readonly admin: AdminRuntime) {}

  async rates({ saga, hours, buckets: count }: RatesAsked): Promise<Rates> {
    const { engine, rates } = await this.admin.ready();
    const bucket = Math.ceil((hours * 3_600_000) / count);
    // Buckets begin at whole multiples, so that they do not move between two looks.
    const end = (Math.floor(engine.now() / bucket) + 1) * bucket;
    const starts = Array.from({ length: count }, (_, n) => end - (count - n) * bucket);
    const read = await rates((from) =>
      Promise.all([
        from.sagas(starts, bucket, saga),
        saga === undefined ? [] : from.steps(starts, bucket, saga),
      ]),
    );
    const [sagas, steps] = read.value;
    const buckets = starts.map((from, n) => ({
      from: new Date(from),
      complete: sagas.every((row) => row.bucket !== n || row.complete),
      sagas: sagas.filter((row) => row.bucket === n).map(({ bucket: _, complete: __, ...rate }) => rate),
      steps: steps.filter((row) => row.bucket === n).map(({ bucket: _, ...rate }) => rate),
    }));
    const asOf = read.asOf && { asOf: read.asOf };
    return { from: new Date(starts[0]!), to: new Date(end), ...asOf, bucket, buckets };
  }
}
