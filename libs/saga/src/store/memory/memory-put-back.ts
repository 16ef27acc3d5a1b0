import type { Checkpoint } from '../../engine/ports/checkpoint.js';
import { BEYOND, type PutBack, type SagaRevision } from '../../engine/ports/put-back.js';
import type { MemoryRow } from './memory-row.js';
import type { MemoryRows } from './memory-rows.js';

/** How far these sagas have come, of those that exist or were deleted. */
export function revisionsOf({ byId, deleted }: MemoryRows, ids: readonly string[]): SagaRevision[] {
  return [...new Set(ids)].flatMap((id) => {
    const saga = byId.get(id)?.saga;
    if (saga) return { id, epoch: saga.epoch, checkpoints: saga.checkpoints };
    return deleted.has(id) ? { id, epoch: BEYOND, checkpoints: BEYOND } : [];
  });
}

/** Gives a row the fencing token and the lease of a state that was lost, before its checkpoint. */
export function prepareRow(
  row: MemoryRow,
  { checkpoint, lease, createdAt, parent }: PutBack,
  now: number,
): void {
  const { saga } = row;
  saga.epoch = checkpoint.epoch;
  if (lease && saga.lockedBy !== lease.worker) saga.leasedAt = now;
  saga.lockedBy = lease?.worker;
  if (lease) saga.dueAt = now + lease.duration;
  if (createdAt !== undefined) Object.assign(saga, { createdAt });
  if (parent && !saga.parent) Object.assign(saga, { parent });
}

/** Takes the lease away of a saga whose last checkpoint, or the claim of its worker, is gone. True: it has done so. */
export function fenceLost(
  { saga }: MemoryRow,
  { after, holder }: Pick<Checkpoint, 'after' | 'holder'>,
  now: number,
): boolean {
  if (after === undefined) return false;
  const isOthers = holder !== undefined && saga.lockedBy !== undefined && saga.lockedBy !== holder;
  if (saga.checkpoints >= after && !isOthers) return false;
  saga.epoch += 1;
  saga.lockedBy = undefined;
  saga.dueAt = now;
  return true;
}
