import type { RenewResult } from '../../../engine/ports/saga-store.js';
import type { HeldLease, Lease } from '../../../engine/ports/stored-saga.js';
import { fieldArrays } from '../checkpoint/column-values.js';
import { inLockOrder } from '../checkpoint/in-lock-order.js';
import type { Query } from '../read/saga-reader.js';
import type { Statements } from '../sql-texts.js';

interface RenewedRow {
  readonly now: number;
  readonly id: string | null;
  readonly cancel_requested: boolean;
  readonly cancel_reason: string | null;
  readonly pause_requested: boolean;
}

/** Extends leases, and stores the reports that come with them. */
export async function renewLeases(
  query: Query,
  sql: Statements,
  leases: readonly HeldLease[],
  lease: Lease,
): Promise<RenewResult> {
  const ordered = inLockOrder(leases);
  const hasReports = leases.some(({ reports }) => reports !== undefined);
  const [ids, epochs, seen, reports] = fieldArrays(ordered, 'id', 'epoch', 'seen', 'reports');
  const held = { ids, epochs, worker: lease.worker, lease: lease.duration, seen };
  const rows = await query<RenewedRow>(...(hasReports ? sql.report({ ...held, reports }) : sql.renew(held)));
  const kept = new Set(rows.map((row) => row.id));
  return {
    now: rows[0]!.now,
    lost: leases.filter((l) => !kept.has(l.id)).map((l) => l.id),
    cancelled: rows
      .filter((row) => row.id !== null && row.cancel_requested)
      .map((row) => ({ id: row.id!, reason: row.cancel_reason ?? undefined })),
    paused: rows.flatMap(({ id, pause_requested }) => (id !== null && pause_requested ? id : [])),
  };
}
