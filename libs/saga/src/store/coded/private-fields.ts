import { itemKey } from '../../definition/graph/saga-graph.js';
import type { AttemptError, SagaFailure, SerializedError } from '../../definition/types/saga-failure.js';
import type { Checkpoint, StoredMessage } from '../../engine/ports/checkpoint.js';
import type { Operation } from '../../engine/ports/operation.js';
import type { Edit, RenewResult, StoredSummary } from '../../engine/ports/saga-store.js';
import type { StoredStepPause, WhoAndWhy } from '../../engine/ports/step-pause.js';
import type { Child, HeldLease, NewSaga, SentSignal, StoredSaga } from '../../engine/ports/stored-saga.js';
import type { StoredSchedule } from '../../engine/ports/stored-schedule.js';
import {
  type OvertakenRollbackState,
  type PendingRollbackState,
  type SagaState,
  STATE_PROGRESS,
  STEP_FIELDS,
  type StepState,
  type WaitState,
  changeState,
  changeStep,
} from '../../machine/saga-state.js';
import { ALL } from '../../machine/data/step-kinds.js';
import { mapOfKinds, StepMap } from '../../machine/data/step-map.js';
import { AS_IT_IS, type Conversion } from './coder.js';
import type { PayloadContext } from './payload-codec.js';

// All fields that stores are given, and which of them a codec encodes. A field that is added to one of these records does
// not compile before this file says what it is. Encoding and decoding follow from it: see convert-saga.ts.

/** Where a value is. */
export interface ValuePlace {
  readonly sagaId?: string;
  /** The step, or the item's key. */
  readonly step?: string;
  /** The steps of the saga that are converted. Undefined: all. */
  readonly keys?: readonly string[];
}

/** Converts what is private in a value. Returns the value itself if nothing changes, so that nothing is copied without a codec. */
type Convert<Value, Owner = unknown> = (
  value: Value,
  by: Conversion,
  place: ValuePlace,
  owner: Owner,
) => Value;

/** Stored as it is: names, states, counts, times, and what searches use. */
const OPEN = 'open';

type Fields<Owner> = {
  readonly [Name in keyof Owner]-?: typeof OPEN | Convert<NonNullable<Owner[Name]>, Owner>;
};

/** @param change copies the record. Default: a plain object */
function record<Owner extends object>(
  fields: Fields<Owner>,
  change: (owner: Owner, changes: Partial<Owner>) => Owner = (owner, changes) => ({ ...owner, ...changes }),
): <Given extends Owner>(owner: Given, by: Conversion, place?: ValuePlace) => Given {
  const converters = Object.entries(fields as Record<string, typeof OPEN | Convert<unknown, Owner>>).flatMap(
    ([name, convert]) => (convert === OPEN ? [] : [{ name: name as keyof Owner, convert }]),
  );
  return (owner, by, place = NOWHERE) => {
    if (by === AS_IT_IS) return owner;
    let changes: Partial<Owner> | undefined;
    for (const { name, convert } of converters) {
      const value = owner[name];
      if (value === undefined) continue;
      const after = convert(value, by, place, owner);
      if (after === value) continue;
      changes ??= {} as Partial<Owner>;
      changes[name] = after as Owner[keyof Owner];
    }
    return changes === undefined ? owner : (change(owner, changes) as typeof owner);
  };
}

const NOWHERE: ValuePlace = {};

/** Returns the list itself if nothing in it changes. */
function each<Value>(
  convert: (value: Value, by: Conversion, place: ValuePlace, index: number) => Value,
): (list: readonly Value[], by: Conversion, place: ValuePlace) => readonly Value[] {
  return (list, by, place) => {
    let converted: Value[] | undefined;
    for (let n = 0; n < list.length; n += 1) {
      const after = convert(list[n]!, by, place, n);
      if (after === list[n]) continue;
      converted ??= [...list];
      converted[n] = after;
    }
    return converted ?? list;
  };
}

/** The codec is shown no field that is undefined. */
const reasonAt = ({ sagaId, step }: ValuePlace): PayloadContext => ({
  kind: 'reason',
  ...(sagaId !== undefined && { sagaId }),
  ...(step !== undefined && { step }),
});
const reason: Convert<string> = (text, by, place) => by.text(text, reasonAt, place);

/** All errors of a saga have one context, since they move within it. */
const errorOf = ({ sagaId }: ValuePlace): PayloadContext => ({ kind: 'error', sagaId });
const errorText: Convert<string> = (text, by, place) => by.text(text, errorOf, place);

export const inputOf = ({ sagaId }: ValuePlace): PayloadContext => ({ kind: 'input', sagaId });
const input: Convert<string> = (text, by, place) => by.json(text, inputOf, place);

const resultOf = ({ sagaId, step }: ValuePlace): PayloadContext => ({ kind: 'result', sagaId, step });
const itemOf = ({ sagaId, step }: ValuePlace): PayloadContext => ({ kind: 'item', sagaId, step });
const signalOf = ({ sagaId, step }: ValuePlace): PayloadContext => ({ kind: 'signal', sagaId, step });
const givenResultOf = ({ sagaId, step }: ValuePlace): PayloadContext => ({
  kind: 'result',
  sagaId,
  ...(step !== undefined && { step }),
});
const sentOf = ({ messageId }: SentSignal): PayloadContext => ({ kind: 'signal', messageId });
const messageOf = ({ id }: StoredMessage): PayloadContext => ({ kind: 'message', messageId: id });
const reportOf = (sagaId: string): PayloadContext => ({ kind: 'report', sagaId });

/** The name and the code of an error are the program's. */
const ERROR: Fields<SerializedError> = {
  ...{ name: OPEN, code: OPEN },
  ...{ message: errorText, stack: errorText },
  cause: (cause, by, place) => convertError(cause, by, place),
};
const convertError = record(ERROR);
const convertAttemptError = record<AttemptError>({ ...ERROR, attempt: OPEN, at: OPEN, during: OPEN });

const convertFailure = record<SagaFailure>({ kind: OPEN, step: OPEN, reason, error: convertError });

const convertWait = record<WaitState>({
  ...{ signal: OPEN, until: OPEN, since: OPEN, quorum: OPEN, takenSignal: OPEN },
  payload: (text, by, place) => by.json(text, signalOf, place),
});

/** What a table of fields does not call private. Each field that it does has a conversion below. */
function openFields<Table extends Readonly<Record<string, object>>>(table: Table) {
  const open = Object.entries(table).flatMap(([name, field]) => ('isPrivate' in field ? [] : [[name, OPEN]]));
  return Object.fromEntries(open) as {
    [Name in keyof Table as Table[Name] extends { readonly isPrivate: true } ? never : Name]: typeof OPEN;
  };
}

const result: Convert<string> = (text, by, place) => by.json(text, resultOf, place);

const STEP: Fields<StepState> = {
  ...openFields(STEP_FIELDS),
  active: OPEN,
  result,
  items: each((item, by, { sagaId, step }, n) => by.json(item, itemOf, { sagaId, step: itemKey(step!, n) })),
  wait: convertWait,
  errors: each(convertAttemptError),
};
export const convertStep = record(STEP, (step, changes) => changeStep(step, changes as StepState));
/** Converts some fields of a step's state. */
export const convertStepPart = record<Partial<StepState>>(STEP as Fields<Partial<StepState>>);

const convertPendingRollback = record<PendingRollbackState>({ failure: convertFailure, rollbackTo: OPEN });

/** An overtaken rollback, whose reason has the place of the reasons of its saga. */
const convertOvertaken = record<OvertakenRollbackState>({ kind: OPEN, step: OPEN, reason });

const convertSteps: Convert<SagaState['steps']> = (steps, by, { sagaId, keys }) => {
  if (keys === undefined)
    return mapOfKinds(steps, ALL, (step, key) => convertStep(step, by, { sagaId, step: key }));
  let converted = steps;
  for (const key of keys) {
    const step = steps.get(key);
    const after = step && convertStep(step, by, { sagaId, step: key });
    if (after !== step) converted = StepMap.with(converted, key, after!);
  }
  return converted;
};

const STATE: Fields<SagaState> = {
  ...openFields(STATE_PROGRESS),
  ...{ status: OPEN, heldPhase: OPEN, deadline: OPEN, startsAt: OPEN },
  failure: convertFailure,
  steps: convertSteps,
  pendingRollback: convertPendingRollback,
  overtaken: convertOvertaken,
};
export const convertState = record(STATE, (state, changes) => changeState(state, changes as SagaState));
/** Converts some fields of a saga's state. */
export const convertStatePart = record<Partial<SagaState>>(STATE as Fields<Partial<SagaState>>);

const NEW_SAGA: Fields<NewSaga> = {
  ...{ id: OPEN, fresh: OPEN, name: OPEN, version: OPEN, correlationId: OPEN, priority: OPEN, tags: OPEN },
  ...{ delay: OPEN, startAt: OPEN, timeout: OPEN, sla: OPEN, step: OPEN, lockKey: OPEN, lockRejects: OPEN },
  ...{ limitKey: OPEN, leased: OPEN },
  input: (text, by, _, { id }) => input(text, by, { sagaId: id }, undefined),
};
export const convertNewSaga = record(NEW_SAGA);
const convertChild = record<Child>({ ...NEW_SAGA, parent: OPEN });

/** The payload of a message, whose id is its place. */
export const convertMessage = record<StoredMessage>({
  ...{ id: OPEN, topic: OPEN, key: OPEN, type: OPEN, headers: OPEN },
  payload: (text, by, _, message) => by.json(text, messageOf, message),
});

/** A payload that no step has received. Its message id is its place. */
export const convertSignal = record<SentSignal>({
  ...{ name: OPEN, messageId: OPEN },
  payload: (text, by, _, sent) => by.json(text, sentOf, sent),
});

export const convertOperation = record<Operation>({
  ...{ id: OPEN, action: OPEN, by: OPEN, step: OPEN, from: OPEN, revision: OPEN, proposed: OPEN },
  newInput: OPEN,
  reason: (text, by, { sagaId }) => by.text(text, reasonAt, { sagaId }),
  given: (text, by, { sagaId }, { newInput, step }) =>
    by.json<ValuePlace>(text, newInput ? inputOf : givenResultOf, { sagaId, step }),
});

/** An edit that gives a saga another state. Its operation is converted by itself. */
export const convertStateEdit = record<Extract<Edit, { readonly state: SagaState }>>({
  ...{ due: OPEN, step: OPEN, version: OPEN, operation: OPEN },
  ...{ state: convertState, input },
});

export const convertReason = record<{ readonly reason?: string }>({ reason });

export const convertCheckpointFields = record<Checkpoint>({
  ...{ id: OPEN, epoch: OPEN, number: OPEN, changed: OPEN, notes: OPEN, openApprovals: OPEN, step: OPEN },
  ...{ failedAttempt: OPEN, fresh: OPEN, elapsed: OPEN, advances: OPEN, cancelSeen: OPEN, pauseSeen: OPEN },
  ...{ release: OPEN, lock: OPEN, parent: OPEN, after: OPEN, holder: OPEN, heldBy: OPEN, tags: OPEN },
  state: convertState,
  starts: each(convertChild),
  messages: each(convertMessage),
});

/** What steps report of their attempts may contain anything of their data. */
const reports: Convert<string, { readonly id: string }> = (text, by, _, { id }) =>
  by.json(text, reportOf, id);

export const convertLease = record<HeldLease>({ id: OPEN, epoch: OPEN, seen: OPEN, reports });

/** Columns of JSON text or of text that a codec encodes as a whole, by their names in the entities of TypeORM. */
export const WHOLE_COLUMNS = {
  ...{ input, startedInput: input, result, cancelReason: reason, error: errorText },
  reports: ((text, by, { sagaId }) => by.json(text, reportOf, sagaId!)) as Convert<string>,
};

const STORED_SAGA: Fields<StoredSaga> = {
  ...{ id: OPEN, name: OPEN, version: OPEN, graphRevision: OPEN, correlationId: OPEN, priority: OPEN },
  ...{ tags: OPEN, notes: OPEN, epoch: OPEN, checkpoints: OPEN, lockedBy: OPEN, leasedAt: OPEN },
  ...{ lostLeases: OPEN, dueAt: OPEN, takeovers: OPEN, losses: OPEN, pauseRequested: OPEN, slaAt: OPEN },
  ...{ overdue: OPEN, parent: OPEN, lock: OPEN, deadlock: OPEN, slotsTaken: OPEN, limitKey: OPEN },
  ...{ createdAt: OPEN, updatedAt: OPEN, finishedAt: OPEN, stepTimes: OPEN },
  ...{ reports, input, state: convertState, cancelRequested: convertReason },
  startedWith: record<{ readonly input?: string }>({ input }),
  signals: each(convertSignal),
  operations: each(convertOperation),
};
export const convertStoredSaga = record(STORED_SAGA);

export const convertCancelled = record<RenewResult['cancelled'][number]>({ id: OPEN, reason });

export const convertSummary = record<StoredSummary>({
  ...{ id: OPEN, name: OPEN, version: OPEN, correlationId: OPEN, status: OPEN, heldPhase: OPEN },
  ...{ revision: OPEN, step: OPEN, tags: OPEN, createdAt: OPEN, updatedAt: OPEN, finishedAt: OPEN },
  error: (text, by, place, { id: sagaId }) => errorText(text, by, { ...place, sagaId }, undefined),
});

export const convertWhoAndWhy = record<WhoAndWhy>({ by: OPEN, reason });
const convertPauseTime = record<StoredStepPause['paused']>({ at: OPEN, by: OPEN, reason });

export const convertStepPause = record<StoredStepPause>({
  ...{ saga: OPEN, step: OPEN, shard: OPEN, isOver: OPEN },
  paused: (paused, by, _, { step }) => convertPauseTime(paused, by, { step }),
  resumed: (resumed, by, _, { step }) => convertPauseTime(resumed, by, { step }),
});

export const convertSchedule = record<StoredSchedule>({
  ...{ saga: OPEN, cron: OPEN, timezone: OPEN, overlap: OPEN, catchUp: OPEN },
  ...{ decidedUntil: OPEN, nextAt: OPEN, last: OPEN, skippedAt: OPEN },
  paused: convertPauseTime,
});
