import type { SagaStats } from 'nestjs-durable-saga/operators';
import type { SagaRate, StepRate } from 'nestjs-durable-saga/internal/runtime';
import { dto, field } from '../api-docs.js';
import type { AdminDefinition } from '../saga-drawing.js';
import type { RateBucket, Rates } from '../saga-rates.js';

/** A saga's definition, with the positions of its steps and a Mermaid flowchart. */
export const DefinitionDto = dto<
  Pick<AdminDefinition, 'name' | 'version' | 'steps' | 'edges' | 'layout' | 'mermaid'>
>('DefinitionDto', {
  name: field.text(),
  version: field.whole(),
  steps: field.objects(),
  edges: field.objects(),
  layout: field.record(),
  mermaid: field.text(),
});

export const StatsDto = dto<SagaStats>('StatsDto', {
  at: field.time(),
  sagas: field.objects('The counts of unfinished sagas, by name, version and status.'),
  due: field.whole(),
  oldestDue: field.optional(field.time()),
  overdue: field.whole(),
  pausedSteps: field.objects('The steps that are paused for all sagas of a name: saga and step.'),
  outbox: field.optional(field.record()),
  timelineGuard: field.optional(
    field.oneOf(['on', 'off'], '`off` if the promotion of a standby is not noticed.'),
  ),
  unreachable: field.optional(
    field.texts('The shards that cannot be reached: they are not counted. Absent if all are counted.'),
  ),
});

const SagaRateDto = dto<SagaRate>('SagaRateDto', {
  saga: field.text(),
  started: field.whole(),
  completed: field.whole(),
  turnedBack: field.whole(),
  needPerson: field.whole(),
  aborted: field.whole(),
  p50: field.optional(
    field.number('The p50 of the milliseconds from start to end, of the sagas that ended.'),
  ),
  p95: field.optional(field.number()),
});

const StepRateDto = dto<StepRate>('StepRateDto', {
  step: field.text(),
  runs: field.whole(),
  failures: field.whole(),
  p50: field.optional(field.number('The p50 of the milliseconds from the first attempt to the result.')),
  p95: field.optional(field.number()),
});

const RateBucketDto = dto<RateBucket>('RateBucketDto', {
  from: field.time(),
  complete: field.flag(
    'False if more sagas were started than are read. The figures are then of the first ones.',
  ),
  sagas: field.list(SagaRateDto),
  steps: field.list(StepRateDto, 'The figures of the steps, if the query names one saga.'),
});

/** Rates of sagas by the time at which they were started. */
export const RatesDto = dto<Rates>('RatesDto', {
  from: field.time(),
  to: field.time(),
  asOf: field.optional(field.time('The time whose commits they show. Absent if they are from the primary.')),
  bucket: field.number('The length of each bucket in milliseconds.'),
  buckets: field.list(RateBucketDto),
});
