import { ApiField } from '../api-docs.js';

/** A saga's definition, with the places of its steps and as a Mermaid flowchart. */
export class DefinitionDto {
  @ApiField({}) name!: string;
  @ApiField({ type: 'integer' }) version!: number;
  @ApiField({ type: 'object', isArray: true }) steps!: readonly object[];
  @ApiField({ type: 'object', isArray: true }) edges!: readonly object[];
  @ApiField({ type: 'object', additionalProperties: true }) layout!: object;
  @ApiField({}) mermaid!: string;
}

export class AdminContextDto {
  @ApiField({ required: false, description: 'As the application tells; absent: say it yourself.' })
  operator?: string;
  @ApiField({ required: false }) title?: string;
  @ApiField({ type: 'string', isArray: true, description: 'The names of the sagas that may be looked at.' })
  sagas!: readonly string[];
  @ApiField({ description: 'May act on all that a filter finds.' }) bulk!: boolean;
}

export class StatsDto {
  @ApiField({ format: 'date-time' }) at!: Date;
  @ApiField({ type: 'object', isArray: true, description: 'Unfinished ones, by saga, version and status.' })
  sagas!: readonly object[];
  @ApiField({ type: 'integer' }) due!: number;
  @ApiField({ required: false, format: 'date-time' }) oldestDue?: Date;
  @ApiField({ type: 'integer' }) overdue!: number;
  @ApiField({ required: false, type: 'object', additionalProperties: true }) outbox?: object;
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
    description: 'Milliseconds from start to end: the median of those that ended.',
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
    description: 'Milliseconds from its first attempt to its result: the median.',
  })
  p50?: number;
  @ApiField({ required: false }) p95?: number;
}

export class RateBucketDto {
  @ApiField({ format: 'date-time' }) from!: Date;
  @ApiField({
    description: 'False: more were started than are looked at; the figures are of the first ones.',
  })
  complete!: boolean;
  @ApiField({ type: [SagaRateDto] }) sagas!: readonly SagaRateDto[];
  @ApiField({ type: [StepRateDto], description: 'Where one saga was asked about.' })
  steps!: readonly StepRateDto[];
}

/** Sagas by when they were started. */
export class RatesDto {
  @ApiField({ format: 'date-time' }) from!: Date;
  @ApiField({ format: 'date-time' }) to!: Date;
  @ApiField({ description: 'Of each bucket, in milliseconds.' }) bucket!: number;
  @ApiField({ type: [RateBucketDto] }) buckets!: readonly RateBucketDto[];
}
