import type { Attributes, BatchObservableResult, Meter, Observable } from '@opentelemetry/api';
import type { SagaStats } from 'nestjs-durable-saga/operators';
import { type EngineLog, needsOperator, serializeError } from 'nestjs-durable-saga/internal';
import { ATTRIBUTE } from './saga-attributes.js';
import { gaugesOf } from './saga-metrics.js';

/** Reports how things stand in the database, which is asked once for each collection, and not by two at once. */
export class StateGauges {
  private readonly gauges;
  private reading: Promise<SagaStats> | undefined;
  /** What was reported before, and is 0 once there is none: a series that only ends keeps its last value in many places. */
  private readonly series = new Map<
    string,
    { readonly gauge: Observable; readonly attributes: Attributes }
  >();
  private readonly observe = (result: BatchObservableResult) => this.observed(result);

  constructor(
    private readonly meter: Meter,
    private readonly stats: () => Promise<SagaStats>,
    private readonly log: EngineLog,
  ) {
    this.gauges = gaugesOf(meter);
  }

  start(): void {
    this.meter.addBatchObservableCallback(this.observe, Object.values(this.gauges));
  }

  stop(): void {
    this.meter.removeBatchObservableCallback(this.observe, Object.values(this.gauges));
  }

  private async observed(result: BatchObservableResult): Promise<void> {
    try {
      this.reading ??= this.stats().finally(() => (this.reading = undefined));
      this.report(result, await this.reading);
    } catch (error) {
      // Nothing is better than what was true a while ago.
      this.log.warn(`The state of the sagas could not be read for metrics: ${serializeError(error).message}`);
    }
  }

  private report(result: BatchObservableResult, stats: SagaStats): void {
    const { gauges } = this;
    const { at, sagas, due, oldestDue, overdue, pausedSteps, outbox } = stats;
    const counts = new Map<string, number>();
    const count = (gauge: Observable, name: string, attributes: Attributes, more: number) => {
      const key = `${name} ${Object.values(attributes).join(' ')}`;
      this.series.set(key, { gauge, attributes });
      counts.set(key, (counts.get(key) ?? 0) + more);
    };
    for (const { saga, status, count: some } of sagas) {
      const name = { [ATTRIBUTE.saga]: saga };
      count(gauges.active, 'active', { ...name, [ATTRIBUTE.status]: status }, some);
      if (needsOperator(status)) count(gauges.stuck, 'stuck', name, some);
    }
    for (const { saga, step } of pausedSteps)
      count(gauges.pausedSteps, 'paused', { [ATTRIBUTE.saga]: saga, [ATTRIBUTE.step]: step }, 1);
    for (const [key, { gauge, attributes }] of this.series)
      result.observe(gauge, counts.get(key) ?? 0, attributes);
    result.observe(gauges.due, due);
    result.observe(gauges.oldestDue, secondsSince(oldestDue, at));
    result.observe(gauges.overdue, overdue);
    result.observe(gauges.outboxLag, secondsSince(outbox.oldest, at));
    result.observe(gauges.outboxWaiting, outbox.waiting);
    result.observe(gauges.outboxDead, outbox.dead);
    result.observe(gauges.timelineGuard, stats.timelineGuard === 'off' ? 0 : 1);
  }
}

/** 0: there is none. */
export function secondsSince(then: Date | undefined, now: Date): number {
  return then ? Math.max(0, now.getTime() - then.getTime()) / 1_000 : 0;
}
