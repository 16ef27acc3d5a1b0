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
  started: counter('saga.started', '{saga}', 'Sagas whose first step a worker began'),
  finished: counter('saga.finished', '{saga}', 'Sagas that ended, by status'),
  duration: histogram('saga.duration', 's', 'Duration of a saga from start to end', SECONDS),
  stepDuration: histogram(
    'saga.step.duration',
    's',
    'Duration of one attempt of a step or of its compensation',
    SECONDS,
  ),
  stepAttempts: counter(
    'saga.step.attempts',
    '{attempt}',
    'Attempts of steps and of compensations, by outcome',
  ),
  heartbeatLosses: counter(
    'saga.heartbeat.losses',
    '{attempt}',
    'Attempts that were lost because no heartbeat came in time',
  ),
  leaseLosses: counter('saga.lease.losses', '{lease}', 'Sagas whose lease this worker lost'),
  takeovers: counter(
    'saga.takeovers',
    '{saga}',
    'Sagas that this worker took over after the lease of another worker expired',
  ),
  checkpointBatch: histogram(
    'saga.checkpoint.batch_size',
    '{checkpoint}',
    'Checkpoints in one statement',
    SIZES,
  ),
  claimBatch: histogram('saga.claim.batch_size', '{saga}', 'Due sagas returned by one claim', SIZES),
  claimFailures: counter(
    'saga.claim.failures',
    '{claim}',
    'Claims that failed, so that this worker took no due sagas',
  ),
  relayFailures: counter(
    'saga.relay.failures',
    '{turn}',
    'Runs in which this relay could not read the outbox or record the messages that it sent',
  ),
  putBacks: counter(
    'saga.put_back',
    '{saga}',
    'Sagas whose start or progress this process stored again after a failover had lost it',
  ),
  active: gauge('saga.active', '{saga}', 'Unfinished sagas, by status'),
  stuck: gauge('saga.stuck', '{saga}', 'Sagas that need attention'),
  due: gauge('saga.due', '{saga}', 'Due sagas that wait for a worker'),
  oldestDue: gauge('saga.oldest_due', 's', 'Age of the oldest due saga'),
  overdue: gauge('saga.overdue', '{saga}', 'Unfinished sagas past their sla'),
  pausedSteps: gauge(
    'saga.paused_steps',
    '{step}',
    'Steps that operators have paused for all sagas of a name',
  ),
  outboxLag: gauge('saga.outbox.lag', 's', 'Age of the oldest message that waits to be sent'),
  outboxWaiting: gauge('saga.outbox.waiting', '{message}', 'Messages that wait to be sent'),
  outboxDead: gauge('saga.outbox.dead', '{message}', 'Dead messages: retries exhausted'),
  timelineGuard: gauge(
    'saga.timeline.guard',
    '{guard}',
    '0 if the promotion of a standby is not noticed, otherwise 1',
  ),
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
type Instruments<K extends Kind, I> = {
  readonly [N in keyof Metrics as Metrics[N]['kind'] extends K ? N : never]: I;
};

/** The instruments of all metrics of a kind, by the names of the table. */
function instrumentsOf<K extends Kind, I>(kind: K, create: (metric: Metric) => I): Instruments<K, I> {
  const metrics = Object.entries<Metric>(SAGA_METRICS).filter(([, metric]) => metric.kind === kind);
  return Object.fromEntries(metrics.map(([name, metric]) => [name, create(metric)])) as Instruments<K, I>;
}

export const countersOf = (meter: Meter) =>
  instrumentsOf('counter', (metric) => meter.createCounter(metric.name, metric));
export const histogramsOf = (meter: Meter) =>
  instrumentsOf('histogram', (metric) => meter.createHistogram(metric.name, metric));
export const gaugesOf = (meter: Meter) =>
  instrumentsOf('gauge', (metric) => meter.createObservableGauge(metric.name, metric));
