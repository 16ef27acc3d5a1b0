import type { AttemptError, Page, ProgressSnapshot, StepSnapshot } from 'nestjs-durable-saga';
import type { LostAttemptSnapshot, RollbackPlan, TimelineEntry } from 'nestjs-durable-saga/operators';
import { type AllowedCall, SAGA_STATUSES, STEP_STATUSES } from 'nestjs-durable-saga/internal';
import { dto, field, type FieldsOf } from '../api-docs.js';
import type { SagaDrawing } from '../saga-drawing.js';
import type { AdminHistoryEntry, AdminSaga, AdminSummary, FailedCompensation } from '../saga-views.js';

const DURING = field.oneOf(['step', 'compensation']);

const FailedCompensationDto = dto<FailedCompensation>('FailedCompensationDto', {
  step: field.text('The step that it compensates.'),
  method: field.optional(field.text('The method that failed.')),
});

/** What a list and the page of a saga have in common. */
const SUMMARY: FieldsOf<Omit<AdminSummary, 'error'>> = {
  id: field.uuid(),
  saga: field.text(undefined, 'place-order'),
  version: field.whole(),
  status: field.oneOf(SAGA_STATUSES),
  heldPhase: field.optional(
    field.oneOf(['running', 'compensating'], 'The direction of a saga that is stuck, suspended or paused.'),
  ),
  failedCompensations: field.optional(
    field.list(
      FailedCompensationDto,
      'The compensations that failed, if the saga is stuck while it compensates.',
    ),
  ),
  revision: field.whole('A number that rises with every change. Send it as `expects.revision`.'),
  correlationId: field.text('The correlation id, or the id of the saga if it was started without one.'),
  step: field.text('The current step: the steps that are running or next.'),
  tags: field.tags(),
  createdAt: field.time(),
  updatedAt: field.time(),
  finishedAt: field.optional(field.time()),
};

export const SagaPageDto = dto<Page<AdminSummary>>('SagaPageDto', {
  items: field.list(
    dto<AdminSummary>('SagaSummaryDto', {
      ...SUMMARY,
      error: field.optional(field.text('The message of its last error.')),
    }),
  ),
  next: field.optional(field.text('The `cursor` of the next page. Absent on the last page.')),
  asOf: field.optional(
    field.time('The time whose commits the page shows. Absent if it is from the primary.'),
  ),
  unreachable: field.optional(
    field.texts('The shards that cannot be reached: their sagas are missing. Absent if nothing is missing.'),
  ),
});

const AttemptErrorDto = dto<AttemptError>('AttemptErrorDto', {
  attempt: field.whole(),
  at: field.time(),
  during: DURING,
  name: field.text(),
  message: field.text(),
  code: field.optional(field.text()),
  stack: field.optional(field.text()),
  cause: field.optional(field.record('The cause: name, message, code, stack and its cause.')),
});

const LostAttemptDto = dto<LostAttemptSnapshot>('LostAttemptDto', {
  attempt: field.whole(),
  during: DURING,
  worker: field.optional(field.text('The worker that died or lost its lease.')),
  startedAt: field.optional(field.time('The earliest time at which the attempt may have begun.')),
  lostAt: field.time('When the lease expired.'),
  takenOverAt: field.optional(field.time('When another worker took over.')),
});

const ProgressDto = dto<ProgressSnapshot>('ProgressDto', {
  percent: field.optional({ type: 'number', minimum: 0, maximum: 100 }),
  message: field.optional(field.text()),
  at: field.time('When the step reported it.'),
});

const StepDto = dto<StepSnapshot>('StepDto', {
  name: field.text(),
  status: field.oneOf(STEP_STATUSES),
  attempts: field.whole('The attempts that have begun, including attempts that were lost with their worker.'),
  compensationAttempts: field.whole(),
  unknown: field.flag('Whether the outcome is unknown: the step may have taken effect.'),
  round: field.whole(),
  result: field.optional(field.object('The result of the step, redacted.')),
  items: field.optional(
    field.objects('The items of a step with `forEach`, in order. Each has the fields of a step.'),
  ),
  errors: field.list(AttemptErrorDto, 'The last few failed attempts, oldest first.'),
  lost: field.optional(
    field.list(LostAttemptDto, 'The last few attempts that were lost with their worker, oldest first.'),
  ),
  runningSince: field.optional(field.time('When the attempt in progress began.')),
  progress: field.optional(field.one(ProgressDto, 'What the step reported last by `ctx.progress()`.')),
  heartbeatAt: field.optional(field.time('The last heartbeat of the step.')),
  continued: field.optional(
    field.flag('Whether the step is optional and failed, so that the saga continues without it.'),
  ),
  child: field.optional(field.uuid('The id of the saga that the step started.')),
  retryAt: field.optional(field.time()),
  startedAt: field.optional(field.time()),
  updatedAt: field.optional(field.time()),
});

const PayloadsShownDto = dto<{ shown: boolean; why?: string }>('PayloadsShownDto', {
  shown: field.flag(),
  why: field.optional(field.text('The reason for which payloads are not shown.')),
});

const AllowedActionDto = dto<AllowedCall>('AllowedActionDto', {
  kind: field.text(undefined, 'retry'),
  steps: field.optional(field.texts()),
  signals: field.optional(field.texts()),
});

const TimelineEntryDto = dto<TimelineEntry>('TimelineEntryDto', {
  at: field.time(),
  kind: field.oneOf([
    ...['saga', 'step', 'attempt-started', 'attempt-failed', 'attempt-lost', 'attempt-taken-over'],
    'operation',
  ]),
  text: field.text('The event in words.', 'ship failed at attempt 3'),
  step: field.optional(field.text('The step, or the item of a step.')),
  status: field.optional(field.text('The status that the saga or the step reached.')),
  attempt: field.optional(field.whole()),
  during: field.optional(DURING),
  error: field.optional(field.one(AttemptErrorDto, 'The error of a failed attempt.')),
  durationMs: field.optional(field.whole('Milliseconds from the start of a step to its completion.')),
});

export const SagaDto = dto<AdminSaga>('SagaDto', {
  ...SUMMARY,
  input: field.optional(field.object('Redacted.')),
  startedInput: field.optional(
    field.object('The input that the saga was started with, redacted, if a retry has replaced it since.'),
  ),
  priority: field.whole('The priority that the saga was started with, from 0 to 100.'),
  steps: field.list(StepDto, 'In the order of the graph.'),
  round: field.whole('1, and one more after each rollback to a savepoint.'),
  failure: field.optional(field.record('The failure that made the saga compensate or stop.')),
  pendingRollback: field.optional(
    field.record('A rollback that waits for the outcome of a pivot: failure and step.'),
  ),
  overtaken: field.optional(
    field.record('A rollback that did not happen, because a pivot completed first: kind, reason and step.'),
  ),
  waitingFor: field.optional(field.record('What the saga waits for.')),
  waitsFor: field.optional(
    field.text(
      'What the saga waits for, in words. Times are in UTC.',
      "the signal 'paid' for step 'pay', until 2026-11-22T22:43:18.476Z",
    ),
  ),
  waitsForParts: field.optional(
    field.objects('The parts of `waitsFor`: each is a text, `{ time }` or `{ saga }` with the id of a saga.'),
  ),
  timeline: field.list(
    TimelineEntryDto,
    'What happened to the saga, oldest first, with what operators did. Of more than 300 entries, the first and the last 299.',
  ),
  parent: field.optional(field.record('The saga that started this one and waits for it.')),
  slaAt: field.optional(field.time('When the saga becomes overdue, by its sla.')),
  overdue: field.flag(),
  lockedBy: field.optional(field.text('The worker that holds the lease.')),
  payloads: field.one(PayloadsShownDto),
  actions: field.list(
    AllowedActionDto,
    'The actions that the state of the saga allows and this operator may do.',
  ),
});

export const HistoryEntryDto = dto<AdminHistoryEntry>('HistoryEntryDto', {
  at: field.time(),
  action: field.text(undefined, 'retry'),
  text: field.text('The action in words.', 'retried by ann, while stuck: repaired'),
  by: field.optional(field.text()),
  reason: field.optional(field.text()),
  step: field.optional(field.text()),
  signal: field.optional(field.text('The name of the signal.')),
  from: field.optional(field.oneOf(SAGA_STATUSES, 'The status before the action.')),
  proposed: field.flag('Whether the action was only proposed, because other operators had to approve it.'),
  newInput: field.flag('Whether the action replaced the input.'),
  input: field.optional(field.object('The input of a retry that replaced it, redacted.')),
  to: field.optional(field.text('The new time of a reschedule.')),
  result: field.optional(field.object('The result of a resolved step that was given one, redacted.')),
});

export const RollbackPlanDto = dto<RollbackPlan>('RollbackPlanDto', {
  compensations: field.objects('The compensations that would run, in order, with their arguments.'),
  withoutCompensation: field.texts('The steps that took effect and have no compensation.'),
  inProgress: field.texts(),
  pivot: field.optional(field.text('The pivot that the saga has passed.')),
  undecided: field.optional(field.text('The pivot whose outcome decides first.')),
});

/** A graph with the positions of its steps in pixels. */
export const DrawingDto = dto<SagaDrawing>('DrawingDto', {
  known: field.flag(),
  steps: field.objects(),
  edges: field.objects(),
  layout: field.record(),
});
