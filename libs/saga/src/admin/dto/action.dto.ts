import { SAGA_STATUSES } from '../../definition/types/saga-status.js';
import { BULK_ACTIONS, type CallName, factsOf } from '../../engine/ports/call-table.js';
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

/** The fields of the body of a decision, beside those of its call. */
class DecisionDto {
  @ApiField({
    required: false,
    description: 'The operator. Ignored if the application identifies the operator.',
  })
  by?: string;
}

const TYPES = { text: 'string', step: 'string', time: 'string', flag: 'boolean', json: 'object' } as const;

/** The class of the body of a call: the fields are those of the table. */
export function bodyOf(name: CallName): new () => object {
  const { decides, sends, options } = factsOf(name);
  const base = sends ? Object : decides ? DecisionDto : OperatorDto;
  if (Object.keys(options).length === 0) return base;
  const body = class extends base {};
  Object.defineProperty(body, 'name', { value: `${name[0]!.toUpperCase()}${name.slice(1)}Dto` });
  for (const [option, { type, about, example, required = false }] of Object.entries(options))
    ApiField({
      type: TYPES[type],
      required,
      ...(about && { description: about }),
      ...(example && { example }),
    })(body.prototype, option);
  return body;
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
  @ApiField({ enum: BULK_ACTIONS }) action!: string;
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
