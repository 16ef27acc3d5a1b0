import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { ApiField } from '../api-docs.js';

/** The state that the operator saw. In any other state, nothing happens and the response is 409. */
export class ExpectsDto {
  @ApiField({ required: false, enum: SAGA_STATUSES }) status?: string;
  @ApiField({ required: false, type: 'integer', description: 'The revision that `GET` returned.' })
  revision?: number;
}

/** The fields that every action accepts. */
export class OperatorDto {
  @ApiField({ required: false, description: 'The reason. It is kept in the history.' }) reason?: string;
  @ApiField({
    required: false,
    description: 'The operator. Ignored if the application identifies the operator.',
  })
  by?: string;
  @ApiField({ required: false, type: ExpectsDto }) expects?: ExpectsDto;
}

export class CancelDto extends OperatorDto {
  @ApiField({
    required: false,
    description: 'The name of a step: the saga is cancelled only if this step has not begun.',
  })
  unlessBegun?: string;
}

export class RetryDto extends OperatorDto {
  @ApiField({ required: false, description: 'The only step to retry, if several failed.' }) step?: string;
  @ApiField({
    required: false,
    type: 'object',
    description: 'The input that replaces the input of the saga.',
  })
  input?: unknown;
  @ApiField({
    required: false,
    description: 'Whether a saga that waits for the next attempt of a step makes it at once.',
  })
  now?: boolean;
}

export class AbandonDto extends OperatorDto {
  @ApiField({ description: 'The step, or the item, of which an attempt is in progress.' }) step!: string;
  @ApiField({
    required: false,
    description: 'Whether to interrupt another at-most-once step in progress, whose outcome is unknown then.',
  })
  force?: boolean;
}

export class CompleteDto extends AbandonDto {
  @ApiField({ required: false, type: 'object', description: 'The result of the step.' }) result?: unknown;
}

export class RescheduleDto extends OperatorDto {
  @ApiField({ description: 'The step, or the item, that waits.' }) step!: string;
  @ApiField({
    description: 'The new time: an ISO date, or a duration from now such as 2h.',
    example: '2026-12-24T08:00:00Z',
  })
  at!: string;
}

export class SkipDto extends OperatorDto {
  @ApiField({ description: 'The step that was completed manually.' }) step!: string;
  @ApiField({ required: false, type: 'object', description: 'The result of the step.' }) result?: unknown;
}

export class SignalDto {
  @ApiField({ description: 'The name of the signal.' }) signal!: string;
  @ApiField({ required: false, type: 'object' }) payload?: unknown;
  @ApiField({ required: false, description: 'A later signal with the same messageId is dropped.' })
  messageId?: string;
}

export class DecisionDto {
  @ApiField({}) step!: string;
  @ApiField({ required: false }) comment?: string;
  @ApiField({
    required: false,
    description: 'The operator. Ignored if the application identifies the operator.',
  })
  by?: string;
}

/** The action was done, or it waits for the approval of further operators. */
export class ActionAnswerDto {
  @ApiField({}) done!: boolean;
  @ApiField({ required: false, type: 'integer' }) approvals?: number;
  @ApiField({ required: false, type: 'integer' }) needed?: number;
}

export class BulkFilterDto {
  @ApiField({ example: 'place-order' }) saga!: string;
  @ApiField({ required: false, enum: SAGA_STATUSES, isArray: true }) status?: string[];
  @ApiField({ required: false, type: 'object', additionalProperties: { type: 'string' } }) tags?: Record<
    string,
    string
  >;
  @ApiField({ required: false, format: 'date-time' }) createdAfter?: string;
  @ApiField({ required: false, format: 'date-time' }) createdBefore?: string;
  @ApiField({ required: false }) step?: string;
  @ApiField({ required: false }) waitingFor?: string;
  @ApiField({ required: false }) overdue?: boolean;
  @ApiField({ required: false }) errorCode?: string;
}

export class BulkDto {
  @ApiField({ enum: ['cancel', 'abort', 'undo', 'retry', 'pause', 'resume'] }) action!: string;
  @ApiField({ type: BulkFilterDto }) filter!: BulkFilterDto;
  @ApiField({ default: true, required: false, description: 'If true, only counts the sagas that match.' })
  dryRun?: boolean;
  @ApiField({ required: false, type: 'integer', minimum: 1, maximum: 1_000, default: 1_000 }) limit?: number;
  @ApiField({ required: false }) reason?: string;
  @ApiField({
    required: false,
    description: 'The operator. Ignored if the application identifies the operator.',
  })
  by?: string;
}

export class BulkAnswerDto {
  @ApiField({ type: 'integer' }) matched!: number;
  @ApiField({ type: 'integer' }) done!: number;
  @ApiField({
    type: 'integer',
    description: 'The number of sagas whose action now waits for a second operator.',
  })
  proposed!: number;
  @ApiField({
    type: 'object',
    isArray: true,
    description: 'The sagas that were not changed: the id and the error of each.',
  })
  failed!: readonly object[];
  @ApiField({ description: 'Whether more sagas match than the limit.' }) more!: boolean;
}
