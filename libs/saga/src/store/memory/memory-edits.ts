import { dueAfter, type Edit } from '../../engine/ports/saga-store.js';
import { differingSteps } from '../../machine/data/step-map.js';
import { openApprovalsAfter } from '../../machine/open-approvals.js';
import { withoutNotes } from '../../machine/step-notes.js';
import { type MemoryRow, record } from './memory-row.js';

/** Gives a saga the state that an operator's call leads to. The lease of its worker, and what was asked of it, are gone. */
export function replaceState(row: MemoryRow, edit: Extract<Edit, { state: unknown }>, now: number): void {
  const { saga } = row;
  const changed = differingSteps(saga.state.steps, edit.state.steps);
  const notes = withoutNotes(saga.notes, changed);
  const openApprovals = openApprovalsAfter(saga.state, edit.state);
  record(row, { ...edit, changed, notes, openApprovals, advances: true }, now);
  if (edit.input !== undefined) {
    saga.startedWith ??= { input: saga.input };
    saga.input = edit.input;
  }
  if (edit.version !== undefined) Object.assign(saga, { version: edit.version, graphRevision: undefined });
  saga.checkpoints += 1;
  saga.epoch += 1;
  saga.lockedBy = undefined;
  saga.cancelRequested = undefined;
  saga.pauseRequested = undefined;
  saga.dueAt = dueAfter(edit, now);
}
