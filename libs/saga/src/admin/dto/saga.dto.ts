import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { ApiField } from '../api-docs.js';

const STEP_STATUSES = [
  ...['pending', 'running', 'waiting', 'completed', 'skipped', 'failed'],
  ...['compensating', 'compensated', 'compensation_failed'],
];

export class FailedCompensationDto {
  @ApiField({ description: 'The step that it compensates.' }) step!: string;
  @ApiField({ required: false, description: 'The method that failed.' }) method?: string;
}

/** A saga in a list. */
export class SagaSummaryDto {
  @ApiField({ format: 'uuid' }) id!: string;
  @ApiField({ example: 'place-order' }) saga!: string;
  @ApiField({ type: 'integer' }) version!: number;
  @ApiField({ enum: SAGA_STATUSES }) status!: string;
  @ApiField({
    required: false,
    enum: ['running', 'compensating'],
    description: 'The direction of a saga that is stuck, suspended or paused.',
  })
  stuckIn?: string;
  @ApiField({
    required: false,
    type: [FailedCompensationDto],
    description: 'Of a saga that is stuck while it compensates.',
  })
  failedCompensations?: readonly FailedCompensationDto[];
  @ApiField({ type: 'integer', description: 'Rises with every change; for `expects.revision`.' })
  revision!: number;
  @ApiField({ description: 'Its id, where it was given none.' }) correlationId!: string;
  @ApiField({ description: 'Where it stands: the steps under way or next.' }) step!: string;
  @ApiField({ required: false, description: 'The message of its last error.' }) error?: string;
  @ApiField({ type: 'object', additionalProperties: { type: 'string' } }) tags!: Record<string, string>;
  @ApiField({ format: 'date-time' }) createdAt!: Date;
  @ApiField({ format: 'date-time' }) updatedAt!: Date;
  @ApiField({ format: 'date-time', required: false }) finishedAt?: Date;
}

export class SagaPageDto {
  @ApiField({ type: [SagaSummaryDto] }) items!: readonly SagaSummaryDto[];
  @ApiField({ required: false, description: 'The `cursor` of the next page; absent: this is the last one.' })
  next?: string;
}

export class AttemptErrorDto {
  @ApiField({ type: 'integer' }) attempt!: number;
  @ApiField({ format: 'date-time' }) at!: string;
  @ApiField({ enum: ['step', 'compensation'] }) during!: string;
  @ApiField({}) name!: string;
  @ApiField({}) message!: string;
  @ApiField({ required: false }) code?: string;
  @ApiField({ required: false }) stack?: string;
}

export class LostAttemptDto {
  @ApiField({ type: 'integer' }) attempt!: number;
  @ApiField({ enum: ['step', 'compensation'] }) during!: string;
  @ApiField({ required: false, description: 'The worker that was lost.' }) worker?: string;
  @ApiField({ required: false, format: 'date-time', description: 'When it began, at the earliest.' })
  startedAt?: Date;
  @ApiField({ format: 'date-time', description: 'When the lease ran out.' }) lostAt!: Date;
  @ApiField({ required: false, format: 'date-time', description: 'When another worker took over.' })
  takenOverAt?: Date;
}

export class StepDto {
  @ApiField({}) name!: string;
  @ApiField({ enum: STEP_STATUSES }) status!: string;
  @ApiField({ type: 'integer', description: 'Begun, those lost with their worker included.' })
  attempts!: number;
  @ApiField({ type: 'integer' }) compensationAttempts!: number;
  @ApiField({ description: 'It may have taken effect without anyone knowing.' }) unknown!: boolean;
  @ApiField({ type: 'integer' }) round!: number;
  @ApiField({ required: false, type: 'object', description: 'What it returned, redacted.' }) result?: unknown;
  @ApiField({ type: [AttemptErrorDto], description: 'The last few failed attempts, oldest first.' })
  errors!: readonly AttemptErrorDto[];
  @ApiField({
    required: false,
    type: [LostAttemptDto],
    description: 'The last few attempts that were lost with their worker, oldest first.',
  })
  lost?: readonly LostAttemptDto[];
  @ApiField({ required: false, format: 'date-time', description: 'When the attempt in progress began.' })
  runningSince?: Date;
  @ApiField({ required: false, format: 'uuid', description: 'The saga that it started.' }) child?: string;
  @ApiField({ required: false, format: 'date-time' }) retryAt?: Date;
  @ApiField({ required: false, format: 'date-time' }) startedAt?: Date;
  @ApiField({ required: false, format: 'date-time' }) updatedAt?: Date;
}

export class PayloadsShownDto {
  @ApiField({}) shown!: boolean;
  @ApiField({ required: false, description: 'Why not.' }) why?: string;
}

export class AllowedActionDto {
  @ApiField({ example: 'retry' }) kind!: string;
  @ApiField({ required: false, type: 'string', isArray: true }) steps?: readonly string[];
  @ApiField({ required: false, type: 'string', isArray: true }) signals?: readonly string[];
}

/** One saga, with all that is known of it. */
export class SagaDto extends SagaSummaryDto {
  @ApiField({ required: false, type: 'object', description: 'Redacted.' }) input?: unknown;
  @ApiField({
    required: false,
    type: 'object',
    description: 'The input that the saga was started with, redacted, if a retry has replaced it since.',
  })
  startedInput?: unknown;
  @ApiField({ type: [StepDto], description: 'In the order of the graph.' }) steps!: readonly StepDto[];
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'Why it turned back, or stopped.',
  })
  failure?: object;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'Why it does not move.',
  })
  waitingFor?: object;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'The saga that waits for it.',
  })
  parent?: object;
  @ApiField({ required: false, format: 'date-time', description: 'When it is overdue, by its sla.' })
  slaAt?: Date;
  @ApiField({}) overdue!: boolean;
  @ApiField({ required: false, description: 'The worker that holds it.' }) lockedBy?: string;
  @ApiField({ type: PayloadsShownDto }) payloads!: PayloadsShownDto;
  @ApiField({ type: [AllowedActionDto], description: 'What its state allows, and you may do.' })
  actions!: readonly AllowedActionDto[];
}

export class HistoryEntryDto {
  @ApiField({ format: 'date-time' }) at!: Date;
  @ApiField({ example: 'retry' }) action!: string;
  @ApiField({ required: false }) by?: string;
  @ApiField({ required: false }) reason?: string;
  @ApiField({ required: false }) step?: string;
  @ApiField({ required: false, description: 'The name of a signal.' }) signal?: string;
  @ApiField({ required: false, enum: SAGA_STATUSES, description: 'The status before.' }) from?: string;
  @ApiField({ description: 'Nothing was done: others had to agree.' }) proposed!: boolean;
  @ApiField({ description: 'It went on with another input.' }) newInput!: boolean;
  @ApiField({
    required: false,
    type: 'object',
    description: 'Of a retry with another input: that one, redacted.',
  })
  input?: unknown;
  @ApiField({ required: false, type: 'object', description: 'Of a skip with a result: that one, redacted.' })
  result?: unknown;
}

export class RollbackPlanDto {
  @ApiField({
    type: 'object',
    isArray: true,
    description: 'What would run, in order, with what it would be given.',
  })
  compensations!: readonly object[];
  @ApiField({ type: 'string', isArray: true, description: 'Took effect, and has no compensation.' })
  withoutCompensation!: readonly string[];
  @ApiField({ type: 'string', isArray: true }) underWay!: readonly string[];
  @ApiField({ required: false, description: 'The point of no return that lies behind.' }) pivot?: string;
}

/** A graph with the places of its steps, in pixels. */
export class DrawingDto {
  @ApiField({}) known!: boolean;
  @ApiField({ type: 'object', isArray: true }) steps!: readonly object[];
  @ApiField({ type: 'object', isArray: true }) edges!: readonly object[];
  @ApiField({ type: 'object', additionalProperties: true }) layout!: object;
}
