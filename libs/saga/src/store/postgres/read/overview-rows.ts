import type { OverdueSaga, StoreStats } from '../../../engine/ports/saga-store.js';

/** A saga that is overdue, as `markOverdue` returns it. Times are in ms since the epoch. */
export type OverdueRow = Omit<OverdueSaga, 'correlationId' | 'slaAt'> & {
  readonly correlation_id: string | null;
  readonly sla_at: number;
};

/** What `stats` returns. */
export type StatsRow = Omit<StoreStats, 'timelineGuard' | 'oldestDue' | 'oldestMessage' | 'pausedSteps'> & {
  readonly paused_steps: StoreStats['pausedSteps'];
  readonly oldest_due: number | null;
  readonly oldest_message: number | null;
};

export function toOverdueSaga({ correlation_id, sla_at, ...row }: OverdueRow): OverdueSaga {
  return { ...row, correlationId: correlation_id ?? undefined, slaAt: sla_at };
}

export function toStoreStats({ oldest_due, oldest_message, paused_steps, ...stats }: StatsRow): StoreStats {
  const oldest = { oldestDue: oldest_due ?? undefined, oldestMessage: oldest_message ?? undefined };
  return { ...stats, ...oldest, pausedSteps: paused_steps };
}
