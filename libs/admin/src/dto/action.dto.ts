import type { Type } from '@nestjs/common';
import type { BulkResult } from 'nestjs-durable-saga/operators';
import {
  BULK_ACTIONS,
  type CallName,
  SAGA_STATUSES,
  callerOptionsOf,
  factsOf,
} from 'nestjs-durable-saga/internal';
import { dto, field, type FieldDoc } from '../api-docs.js';

/** The state that the operator saw. In any other state, nothing happens and the response is 409. */
const ExpectsDto = dto<{ status?: string; revision?: number }>('ExpectsDto', {
  status: field.optional(field.oneOf(SAGA_STATUSES)),
  revision: field.optional(field.whole('The revision that `GET` returned.')),
});

/** What calls take of their callers. */
const CALLER = {
  reason: field.optional(field.text('The reason. It is kept in the history.')),
  by: field.optional(field.text('The operator. Ignored if the application identifies the operator.')),
  expects: field.optional(field.one(ExpectsDto)),
};

const TYPES = { text: 'string', step: 'string', time: 'string', flag: 'boolean', json: 'object' } as const;

/** The class of the body of a call: the fields are those of the table. */
export function bodyOf(name: CallName): Type {
  const fields: Record<string, FieldDoc> = {};
  for (const [option, { type, about, example, required = false }] of Object.entries(factsOf(name).options))
    fields[option] = { type: TYPES[type], required, description: about, example };
  for (const option of callerOptionsOf(name)) fields[option] = CALLER[option];
  return dto<Record<string, never>>(`${name[0]!.toUpperCase()}${name.slice(1)}Dto`, fields);
}

/** The body of a call on a schedule, or on a step of all sagas. */
export const OperatorDto = dto<{ reason?: string; by?: string }>('OperatorDto', {
  reason: CALLER.reason,
  by: CALLER.by,
});

/** Done, or waiting for so many operators to say the same. */
export type ActionAnswer =
  | { readonly done: true }
  | { readonly done: false; readonly approvals: number; readonly needed: number };

export const ActionAnswerDto = dto<{ done: boolean; approvals?: number; needed?: number }>(
  'ActionAnswerDto',
  {
    done: field.flag('False: it waits for the approval of further operators.'),
    approvals: field.optional(field.whole()),
    needed: field.optional(field.whole()),
  },
);

/** In one request. */
export const MOST_SAGAS = 1_000;

const FILTER = {
  saga: field.text(undefined, 'place-order'),
  status: field.optional({ enum: SAGA_STATUSES, isArray: true }),
  tags: field.optional(field.tags()),
  createdAfter: field.optional(field.time()),
  createdBefore: field.optional(field.time()),
  step: field.optional(field.text()),
  waitingFor: field.optional(field.text()),
  overdue: field.optional(field.flag()),
  errorCode: field.optional(field.text()),
};

/** The fields of the filter of a bulk action. */
export const BULK_FILTERS = Object.keys(FILTER) as (keyof typeof FILTER)[];

const BULK = {
  action: field.oneOf(BULK_ACTIONS),
  filter: field.one(dto<typeof FILTER>('BulkFilterDto', FILTER)),
  dryRun: field.optional({
    ...field.flag('If true, only counts the sagas that match.'),
    default: true,
  }),
  limit: field.optional({ ...field.whole(), minimum: 1, maximum: MOST_SAGAS, default: MOST_SAGAS }),
  reason: CALLER.reason,
  by: CALLER.by,
};

/** The fields of the body of a bulk action. */
export const BULK_FIELDS = Object.keys(BULK) as (keyof typeof BULK)[];

export const BulkDto = dto<typeof BULK>('BulkDto', BULK);

export const BulkAnswerDto = dto<BulkResult>('BulkAnswerDto', {
  matched: field.whole(),
  done: field.whole(),
  proposed: field.whole('The number of sagas whose action now waits for a second operator.'),
  failed: field.objects('The sagas that were not changed: the id and the error of each.'),
  more: field.flag('Whether more sagas match than the limit.'),
  unreachable: field.optional(field.texts('The shards that could not be reached: their sagas are missing.')),
});
