import type { Meter, MetricOptions } from '@opentelemetry/api';

type Kind = 'counter' | 'histogram' | 'gauge';
interface Metric extends MetricOptions {
  readonly name: string;
  readonly kind: Kind;
}

/** Seconds; those of OpenTelemetry's HTTP metrics, and on to the times that steps and sagas take. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 3_600, 86_400];
const SIZES = [1, 2, 5, 10, 25, 50, 100, 150, 200, 250];

/**
 * Every metric of this entry, by what it measures. The counters and histograms are this process's; the gauges are the
 * database's, the same in each process that reports them.
 */
export const SAGA_METRICS = {
  started: counter('saga.started', '{saga}', 'Sagas that a worker began with'),
  finished: counter('saga.finished', '{saga}', 'Sagas that came to their end, by status'),
  duration: histogram('saga.duration', 's', 'From the start of a saga to its end', SECONDS),
  stepDuration: histogram('saga.step.duration', 's', 'One attempt of a step or of its compensation', SECONDS),
  stepAttempts: counter(
    'saga.step.attempts',
    '{attempt}',
    'Attempts of steps and of compensations, by outcome',
  ),
  leaseLosses: counter('saga.lease.losses', '{lease}', 'Sagas that were taken away from this worker'),
  takeovers: counter('saga.takeovers', '{saga}', 'Sagas that this worker took over from one that was lost'),
  checkpointBatch: histogram(
    'saga.checkpoint.batch_size',
    '{checkpoint}',
    'Checkpoints in one statement',
    SIZES,
  ),
  claimBatch: histogram('saga.claim.batch_size', '{saga}', 'Due sagas that one claim brought', SIZES),
  claimFailures: counter(
    'saga.claim.failures',
    '{claim}',
    'Claims that failed: this worker did not take the sagas that were due',
  ),
  relayFailures: counter(
    'saga.relay.failures',
    '{turn}',
    'Turns in which this relay could not read the outbox, or not store what it sent',
  ),
  active: gauge('saga.active', '{saga}', 'Unfinished sagas, by status'),
  stuck: gauge('saga.stuck', '{saga}', 'Sagas that need a person'),
  due: gauge('saga.due', '{saga}', 'Sagas that wait for a worker'),
  oldestDue: gauge('saga.oldest_due', 's', 'How long the first of them has waited'),
  overdue: gauge('saga.overdue', '{saga}', 'Unfinished sagas past their sla'),
  outboxLag: gauge('saga.outbox.lag', 's', 'How long the oldest message has waited to be sent'),
  outboxWaiting: gauge('saga.outbox.waiting', '{message}', 'Messages to be sent'),
  outboxDead: gauge('saga.outbox.dead', '{message}', 'Messages that were given up'),
} as const;

function counter(name: string, unit: string, description: string) {
  return { name, kind: 'counter', unit, description } as const satisfies Metric;
}

function gauge(name: string, unit: string, description: string) {
  return { name, kind: 'gauge', unit, description } as const satisfies Metric;
}

function histogram(name: string, unit: string, description: string, explicitBucketBoundaries: number[]) {
  return {
    name,
    kind: 'histogram',
    unit,
    description,
    advice: { explicitBucketBoundaries },
  } as const satisfies Metric;
}

type Metrics = typeof SAGA_METRICS;
type Names<K extends Kind> = {
  [N in keyof Metrics]: Metrics[N]['kind'] extends K ? N : never;
}[keyof Metrics];

export const counterOf = (meter: Meter, metric: Names<'counter'>) =>
  meter.createCounter(SAGA_METRICS[metric].name, SAGA_METRICS[metric]);
export const histogramOf = (meter: Meter, metric: Names<'histogram'>) =>
  meter.createHistogram(SAGA_METRICS[metric].name, SAGA_METRICS[metric]);
export const gaugeOf = (meter: Meter, metric: Names<'gauge'>) =>
  meter.createObservableGauge(SAGA_METRICS[metric].name, SAGA_METRICS[metric]);
