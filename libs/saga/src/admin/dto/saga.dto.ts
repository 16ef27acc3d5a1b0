import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { STEP_STATUSES } from '../../machine/step-kinds.js';
import { ApiField } from '../api-docs.js';

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
  heldPhase?: string;
  @ApiField({
    required: false,
    type: [FailedCompensationDto],
    description: 'The compensations that failed, if the saga is stuck while it compensates.',
  })
  failedCompensations?: readonly FailedCompensationDto[];
  @ApiField({
    type: 'integer',
    description: 'A number that rises with every change. Send it as `expects.revision`.',
  })
  revision!: number;
  @ApiField({ description: 'The correlation id, or the id of the saga if it was started without one.' })
  correlationId!: string;
  @ApiField({ description: 'The current step: the steps that are running or next.' }) step!: string;
  @ApiField({ required: false, description: 'The message of its last error.' }) error?: string;
  @ApiField({ type: 'object', additionalProperties: { type: 'string' } }) tags!: Record<string, string>;
  @ApiField({ format: 'date-time' }) createdAt!: Date;
  @ApiField({ format: 'date-time' }) updatedAt!: Date;
  @ApiField({ format: 'date-time', required: false }) finishedAt?: Date;
}

export class SagaPageDto {
  @ApiField({ type: [SagaSummaryDto] }) items!: readonly SagaSummaryDto[];
  @ApiField({ required: false, description: 'The `cursor` of the next page. Absent on the last page.' })
  next?: string;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'The time whose commits the page shows. Absent if it is from the primary.',
  })
  asOf?: Date;
  @ApiField({
    required: false,
    type: 'string',
    isArray: true,
    description: 'The shards that cannot be reached: their sagas are missing. Absent if nothing is missing.',
  })
  unreachable?: readonly string[];
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
  @ApiField({ required: false, description: 'The worker that died or lost its lease.' }) worker?: string;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'The earliest time at which the attempt may have begun.',
  })
  startedAt?: Date;
  @ApiField({ format: 'date-time', description: 'When the lease expired.' }) lostAt!: Date;
  @ApiField({ required: false, format: 'date-time', description: 'When another worker took over.' })
  takenOverAt?: Date;
}

export class ProgressDto {
  @ApiField({ required: false, type: 'number', minimum: 0, maximum: 100 }) percent?: number;
  @ApiField({ required: false }) message?: string;
  @ApiField({ format: 'date-time', description: 'When the step reported it.' }) at!: Date;
}

export class StepDto {
  @ApiField({}) name!: string;
  @ApiField({ enum: STEP_STATUSES }) status!: string;
  @ApiField({
    type: 'integer',
    description: 'The attempts that have begun, including attempts that were lost with their worker.',
  })
  attempts!: number;
  @ApiField({ type: 'integer' }) compensationAttempts!: number;
  @ApiField({ description: 'Whether the outcome is unknown: the step may have taken effect.' })
  unknown!: boolean;
  @ApiField({ type: 'integer' }) round!: number;
  @ApiField({ required: false, type: 'object', description: 'The result of the step, redacted.' })
  result?: unknown;
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
  @ApiField({
    required: false,
    type: ProgressDto,
    description: 'What the step reported last by `ctx.progress()`.',
  })
  progress?: ProgressDto;
  @ApiField({ required: false, format: 'date-time', description: 'The last heartbeat of the step.' })
  heartbeatAt?: Date;
  @ApiField({
    required: false,
    description: 'Whether the step is optional and failed, so that the saga continues without it.',
  })
  continued?: boolean;
  @ApiField({ required: false, format: 'uuid', description: 'The id of the saga that the step started.' })
  child?: string;
  @ApiField({ required: false, format: 'date-time' }) retryAt?: Date;
  @ApiField({ required: false, format: 'date-time' }) startedAt?: Date;
  @ApiField({ required: false, format: 'date-time' }) updatedAt?: Date;
}

export class PayloadsShownDto {
  @ApiField({}) shown!: boolean;
  @ApiField({ required: false, description: 'The reason for which payloads are not shown.' }) why?: string;
}

export class AllowedActionDto {
  @ApiField({ example: 'retry' }) kind!: string;
  @ApiField({ required: false, type: 'string', isArray: true }) steps?: readonly string[];
  @ApiField({ required: false, type: 'string', isArray: true }) signals?: readonly string[];
  @ApiField({
    required: false,
    description: 'Whether a retry needs `now`: the saga waits for the next attempt.',
  })
  now?: boolean;
}

export class TimelineEntryDto {
  @ApiField({ format: 'date-time' }) at!: Date;
  @ApiField({
    enum: [
      ...['saga', 'step', 'attempt-started', 'attempt-failed', 'attempt-lost', 'attempt-taken-over'],
      'operation',
    ],
  })
  kind!: string;
  @ApiField({ example: 'ship failed at attempt 3', description: 'The event in words.' }) text!: string;
  @ApiField({ required: false, description: 'The step, or the item of a step.' }) step?: string;
  @ApiField({ required: false, description: 'The status that the saga or the step reached.' })
  status?: string;
  @ApiField({ required: false, type: 'integer' }) attempt?: number;
  @ApiField({ required: false, enum: ['step', 'compensation'] }) during?: string;
  @ApiField({ required: false, type: AttemptErrorDto, description: 'The error of a failed attempt.' })
  error?: AttemptErrorDto;
  @ApiField({
    required: false,
    type: 'integer',
    description: 'Milliseconds from the start of a step to its completion.',
  })
  durationMs?: number;
}

/** One saga with its steps, payloads and allowed actions. */
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
    description: 'The failure that made the saga compensate or stop.',
  })
  failure?: object;
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'What the saga waits for.',
  })
  waitingFor?: object;
  @ApiField({
    required: false,
    example: "the signal 'paid' for step 'pay', until 2026-11-22T22:43:18.476Z",
    description: 'What the saga waits for, in words. Times are in UTC.',
  })
  waitsFor?: string;
  @ApiField({
    required: false,
    isArray: true,
    type: 'object',
    description: 'The parts of `waitsFor`: each is a text, `{ time }` or `{ saga }` with the id of a saga.',
  })
  waitsForParts?: readonly object[];
  @ApiField({
    type: [TimelineEntryDto],
    description:
      'What happened to the saga, oldest first, with what operators did. Of more than 300 entries, the first and the last 299.',
  })
  timeline!: readonly TimelineEntryDto[];
  @ApiField({
    required: false,
    type: 'object',
    additionalProperties: true,
    description: 'The saga that started this one and waits for it.',
  })
  parent?: object;
  @ApiField({
    required: false,
    format: 'date-time',
    description: 'When the saga becomes overdue, by its sla.',
  })
  slaAt?: Date;
  @ApiField({}) overdue!: boolean;
  @ApiField({ required: false, description: 'The worker that holds the lease.' }) lockedBy?: string;
  @ApiField({ type: PayloadsShownDto }) payloads!: PayloadsShownDto;
  @ApiField({
    type: [AllowedActionDto],
    description: 'The actions that the state of the saga allows and this operator may do.',
  })
  actions!: readonly AllowedActionDto[];
}

export class HistoryEntryDto {
  @ApiField({ format: 'date-time' }) at!: Date;
  @ApiField({ example: 'retry' }) action!: string;
  @ApiField({ example: 'retried by ann, while stuck: repaired', description: 'The action in words.' })
  text!: string;
  @ApiField({ required: false }) by?: string;
  @ApiField({ required: false }) reason?: string;
  @ApiField({ required: false }) step?: string;
  @ApiField({ required: false, description: 'The name of the signal.' }) signal?: string;
  @ApiField({ required: false, enum: SAGA_STATUSES, description: 'The status before the action.' })
  from?: string;
  @ApiField({
    description: 'Whether the action was only proposed, because other operators had to approve it.',
  })
  proposed!: boolean;
  @ApiField({ description: 'Whether the action replaced the input.' }) newInput!: boolean;
  @ApiField({
    required: false,
    type: 'object',
    description: 'The input of a retry that replaced it, redacted.',
  })
  input?: unknown;
  @ApiField({ required: false, type: 'object', description: 'The result of a skip that set one, redacted.' })
  result?: unknown;
}

export class RollbackPlanDto {
  @ApiField({
    type: 'object',
    isArray: true,
    description: 'The compensations that would run, in order, with their arguments.',
  })
  compensations!: readonly object[];
  @ApiField({
    type: 'string',
    isArray: true,
    description: 'The steps that took effect and have no compensation.',
  })
  withoutCompensation!: readonly string[];
  @ApiField({ type: 'string', isArray: true }) inProgress!: readonly string[];
  @ApiField({ required: false, description: 'The pivot that the saga has passed.' }) pivot?: string;
}

/** A graph with the positions of its steps in pixels. */
export class DrawingDto {
  @ApiField({}) known!: boolean;
  @ApiField({ type: 'object', isArray: true }) steps!: readonly object[];
  @ApiField({ type: 'object', isArray: true }) edges!: readonly object[];
  @ApiField({ type: 'object', additionalProperties: true }) layout!: object;
}
