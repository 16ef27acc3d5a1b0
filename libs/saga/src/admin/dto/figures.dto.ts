import { ApiField } from '../api-docs.js';

/** A saga's definition, with the positions of its steps and a Mermaid flowchart. */
export class DefinitionDto {
  @ApiField({}) name!: string;
  @ApiField({ type: 'integer' }) version!: number;
  @ApiField({ type: 'object', isArray: true }) steps!: readonly object[];
  @ApiField({ type: 'object', isArray: true }) edges!: readonly object[];
  @ApiField({ type: 'object', additionalProperties: true }) layout!: object;
  @ApiField({}) mermaid!: string;
}

export class AdminContextDto {
  @ApiField({
    required: false,
    description: 'The operator, if the application identifies one. If absent, send `by` with each action.',
  })
  operator?: string;
  @ApiField({ required: false }) title?: string;
  @ApiField({
    type: 'string',
    isArray: true,
    description: 'The names of the sagas that this operator may see.',
  })
  sagas!: readonly string[];
  @ApiField({ description: 'Whether this operator may act on all sagas that match a filter.' })
  bulk!: boolean;
}

export class StatsDto {
  @ApiField({ format: 'date-time' }) at!: Date;
  @ApiField({
    type: 'object',
    isArray: true,
    description: 'The counts of unfinished sagas, by name, version and status.',
  })
  sagas!: readonly object[];
  @ApiField({ type: 'integer' }) due!: number;
  @ApiField({ required: false, format: 'date-time' }) oldestDue?: Date;
  @ApiField({ type: 'integer' }) overdue!: number;
  @ApiField({
    type: 'object',
    isArray: true,
    description: 'The steps that are paused for all sagas of a name: saga and step.',
  })
  pausedSteps!: readonly object[];
  @ApiField({ required: false, type: 'object', additionalProperties: true }) outbox?: object;
  @ApiField({
    required: false,
    type: 'string',
    isArray: true,
    description: 'The shards that cannot be reached: they are not counted. Absent if all are counted.',
  })
  unreachable?: readonly string[];
}

export class SagaRateDto {
  @ApiField({}) saga!: string;
  @ApiField({ type: 'integer' }) started!: number;
  @ApiField({ type: 'integer' }) completed!: number;
  @ApiField({ type: 'integer' }) turnedBack!: number;
  @ApiField({ type: 'integer' }) needPerson!: number;
  @ApiField({ type: 'integer' }) aborted!: number;
  @ApiField({
    required: false,
    description: 'The p50 of the milliseconds from start to end, of the sagas that ended.',
  })
  p50?: number;
  @ApiField({ required: false }) p95?: number;
}

export class StepRateDto {
  @ApiField({}) step!: string;
  @ApiField({ type: 'integer' }) runs!: number;
  @ApiField({ type: 'integer' }) failures!: number;
  @ApiField({
    required: false,
    description: 'The p50 of the milliseconds from the first attempt to the result.',
  })
  p50?: number;
  @ApiField({ required: false }) p95?: number;
}

export class RateBucketDto {
  @ApiField({ format: 'date-time' }) from!: Date;
  @ApiField({
    description: 'False if more sagas were started than are read. The figures are then of the first ones.',
  })
  complete!: boolean;
  @ApiField({ type: [SagaRateDto] }) sagas!: readonly SagaRateDto[];
  @ApiField({ type: [StepRateDto], description: 'The figures of the steps, if the query names one saga.' })
  steps!: readonly StepRateDto[];
}

/** Rates of sagas by the time at which they were started. */
export class RatesDto {
  @ApiField({ format: 'date-time' }) from!: Date;
  @ApiField({ format: 'date-time' }) to!: Date;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'The time whose commits they show. Absent if they are from the primary.',
  })
  asOf?: Date;
  @ApiField({ description: 'The length of each bucket in milliseconds.' }) bucket!: number;
  @ApiField({ type: [RateBucketDto] }) buckets!: readonly RateBucketDto[];
}
