import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { ApiField } from '../api-docs.js';

/** The state that the operator saw; in any other nothing happens, and the answer is 409. */
export class ExpectsDto {
  @ApiField({ required: false, enum: SAGA_STATUSES }) status?: string;
  @ApiField({ required: false, type: 'integer', description: 'As `GET` gave it.' }) revision?: number;
}

/** What every action takes. */
export class OperatorDto {
  @ApiField({ required: false, description: 'Why; kept in the history.' }) reason?: string;
  @ApiField({ required: false, description: 'Who acts; counts only where the application cannot tell.' })
  by?: string;
  @ApiField({ required: false, type: ExpectsDto }) expects?: ExpectsDto;
}

export class RetryDto extends OperatorDto {
  @ApiField({ required: false, description: 'Only this one of several.' }) step?: string;
  @ApiField({ required: false, type: 'object', description: 'Goes on with this input instead of its own.' })
  input?: unknown;
}

export class SkipDto extends OperatorDto {
  @ApiField({ description: 'The step that was done by hand.' }) step!: string;
  @ApiField({ required: false, type: 'object', description: 'What it returned.' }) result?: unknown;
}

export class SignalDto {
  @ApiField({ description: 'Its name.' }) signal!: string;
  @ApiField({ required: false, type: 'object' }) payload?: unknown;
  @ApiField({ required: false, description: 'One with the same is dropped.' }) messageId?: string;
}

export class DecisionDto {
  @ApiField({}) step!: string;
  @ApiField({ required: false }) comment?: string;
  @ApiField({ required: false, description: 'Who decides; counts only where the application cannot tell.' })
  by?: string;
}

/** Done, or waiting for so many other people to say the same. */
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
}

export class BulkDto {
  @ApiField({ enum: ['cancel', 'abort', 'undo', 'retry', 'pause', 'resume'] }) action!: string;
  @ApiField({ type: BulkFilterDto }) filter!: BulkFilterDto;
  @ApiField({ default: true, required: false, description: 'Counts, and does nothing.' }) dryRun?: boolean;
  @ApiField({ required: false, type: 'integer', minimum: 1, maximum: 1_000, default: 1_000 }) limit?: number;
  @ApiField({ required: false }) reason?: string;
  @ApiField({ required: false, description: 'Who acts; counts only where the application cannot tell.' })
  by?: string;
}

export class BulkAnswerDto {
  @ApiField({ type: 'integer' }) matched!: number;
  @ApiField({ type: 'integer' }) done!: number;
  @ApiField({ type: 'integer', description: 'Those that wait for a second person now.' }) proposed!: number;
  @ApiField({ type: 'object', isArray: true, description: 'By id: why not.' }) failed!: readonly object[];
  @ApiField({ description: 'There are more than the limit.' }) more!: boolean;
}
