import { stepDecidedOn } from '../../../definition/graph/saga-graph.js';
import { dueAfter, type Edit } from '../../../engine/ports/saga-store.js';
import type { Checkpoint, CheckpointResult } from '../../../engine/ports/checkpoint.js';
import type { PutBack } from '../../../engine/ports/put-back.js';
import type { StoredSaga } from '../../../engine/ports/stored-saga.js';
import { differingSteps } from '../../../machine/data/step-map.js';
import { attemptOfFailure } from '../../../machine/attempt-errors.js';
import { openApprovalsAfter } from '../../../machine/open-approvals.js';
import { withoutNotes } from '../../../machine/step-notes.js';
import { sendSignals } from '../signals/postgres-signals.js';
import type { Statements } from '../sql-texts.js';

/** The transaction that an edit is made in, which has locked the saga's row. */
export interface EditTransaction {
  readonly sql: Statements;
  readonly query: <Row>(text: string, parameters: unknown[]) => Promise<Row[]>;
  readonly checkpoint: (checkpoint: Checkpoint) => Promise<CheckpointResult[]>;
  readonly notify: (payload: string) => Promise<void>;
}

/** @param now the database's clock, milliseconds since the epoch */
export async function applyEdit(on: EditTransaction, saga: StoredSaga, edit: Edit, now: number) {
  if (edit.operation) {
    const { id, action, by, reason, step, from, revision, proposed, newInput, given } = edit.operation;
    await on.query(
      ...on.sql.operation({
        ...{ sagaId: saga.id, id, action, operator: by ?? null, reason: reason ?? null, step: step ?? null },
        ...{ fromStatus: from, revision, proposed, newInput: newInput ?? false, given: given ?? null },
      }),
    );
  }
  if ('proposal' in edit) return;
  if ('putBack' in edit) return putBack(on, saga, edit.putBack);
  if ('signal' in edit) {
    await sendSignals(on.query, on.sql, [{ ...edit.signal, target: { id: saga.id } }]);
    const step = stepDecidedOn(edit.signal.name);
    if (step !== undefined) await on.query(...on.sql.endTask({ id: saga.id, step }));
  } else if ('requestCancel' in edit) {
    const { reason = null } = edit.requestCancel;
    await on.query(...on.sql.requestCancel({ id: saga.id, reason }));
    await on.notify(`look:${saga.id}`);
  } else if ('requestPause' in edit) {
    await on.query(...on.sql.requestPause({ id: saga.id }));
    await on.notify(`look:${saga.id}`);
  } else {
    await saveState(on, saga, edit, now);
  }
}

async function saveState(
  on: EditTransaction,
  saga: StoredSaga,
  edit: Extract<Edit, { state: unknown }>,
  now: number,
): Promise<void> {
  const dueAt = dueAfter(edit, now);
  const changed = differingSteps(saga.state.steps, edit.state.steps);
  await on.checkpoint({
    id: saga.id,
    epoch: saga.epoch,
    number: saga.checkpoints + 1,
    state: edit.state,
    changed,
    notes: withoutNotes(saga.notes, changed),
    failedAttempt: attemptOfFailure(edit.state),
    openApprovals: openApprovalsAfter(saga.state, edit.state),
    step: edit.step,
    advances: true,
    cancelSeen: true,
    pauseSeen: true,
    release: { dueAt },
    parent: saga.parent,
  });
  const { input = null, version = null } = edit;
  await on.query(...on.sql.fenceOff({ id: saga.id, input, version }));
  if (saga.lock) {
    await on.query(...on.sql.dequeue({ ids: [saga.id] }));
    // It may have been first in the queue without the lock. If it is not due any more, others do not wait for it.
    await on.query(...on.sql.handOver({ name: saga.name, key: saga.lock.key }));
  }
  if (dueAt !== undefined) await on.notify('due');
  if (saga.lockedBy !== undefined) await on.notify(`look:${saga.id}`);
}

async function putBack(
  on: EditTransaction,
  saga: StoredSaga,
  { checkpoint, lease, createdAt, parent, storedAt }: PutBack,
): Promise<void> {
  const taken = Math.max(0, ...Object.values(checkpoint.state.lastTakenSignals ?? {}));
  await on.query(
    ...on.sql.putBack({
      ...{ id: saga.id, epoch: checkpoint.epoch, startedAt: createdAt ?? null, lastSignal: taken },
      ...{ worker: lease?.worker ?? null, lease: lease?.duration ?? null },
      ...{ parentId: parent?.id ?? null, parentStep: parent?.step ?? null },
      startsAt: checkpoint.state.startsAt ?? null,
    }),
  );
  await on.checkpoint(checkpoint);
  await on.query(...on.sql.putBackTime({ id: saga.id, updatedAt: storedAt }));
  if (!lease) await on.notify('due');
}
