import type { ScheduleRule } from '../../../definition/options/schedule-options.js';
import type { SagaStatus } from '../../../definition/types/saga-status.js';
import type { StartResult } from '../../../engine/ports/saga-store.js';
import type { NewSaga } from '../../../engine/ports/stored-saga.js';
import {
  type ChangeSchedule,
  type ScheduleEdited,
  type StoredSchedule,
  withStarted,
  withStatus,
} from '../../../engine/ports/stored-schedule.js';
import { withoutNulls } from '../read/without-nulls.js';
import type { Statements } from '../sql-texts.js';

export interface ScheduleRow {
  /** Null: there are no schedules. */
  readonly saga: string | null;
  readonly cron: string;
  readonly timezone: string;
  readonly overlap: ScheduleRule['overlap'];
  readonly catch_up: ScheduleRule['catchUp'];
  readonly decided_until: number;
  readonly next_at: number;
  readonly paused_at: number | null;
  readonly paused_by: string | null;
  readonly pause_reason: string | null;
  readonly last_saga: string | null;
  readonly last_at: number | null;
  readonly last_triggered: boolean | null;
  readonly skipped_at: number | null;
  readonly last_status: SagaStatus | null;
  readonly now: number;
}

/** A transaction in which a schedule is changed. */
export interface ScheduleTransaction {
  readonly sql: Statements;
  readonly query: <Row>(text: string, parameters: unknown[]) => Promise<Row[]>;
  readonly start: (saga: NewSaga) => Promise<StartResult>;
}

/** @returns 'again': another process has stored the schedule since. The transaction is to be repeated. */
export async function editSchedule(
  on: ScheduleTransaction,
  saga: string,
  change: ChangeSchedule,
): Promise<ScheduleEdited | undefined | 'again'> {
  const { sql, query } = on;
  const [row] = await query<ScheduleRow>(...sql.lockSchedule({ saga }));
  const stored = row && toStoredSchedule(row, await statusOf(on, row.last_saga));
  const now = row?.now ?? (await query<{ now: number }>(...sql.clock({})))[0]!.now;
  const edit = change(stored, now);
  if (!edit) return undefined;
  // First, since it may be there already, under another id.
  const start = edit.start && (await on.start(edit.start));
  const schedule = withStarted(edit.schedule, start, stored);
  const parameters = parametersOf(schedule);
  if (row) await query(...sql.updateSchedule(parameters));
  else if ((await query(...sql.insertSchedule(parameters))).length === 0) return 'again';
  const status = await statusOf(on, schedule.last?.id ?? null);
  return { schedule: withStatus(schedule, status), now, ...(start && { start }) };
}

async function statusOf(
  { sql, query }: ScheduleTransaction,
  id: string | null,
): Promise<SagaStatus | undefined> {
  if (id === null) return undefined;
  return (await query<{ status: SagaStatus }>(...sql.unended({ id })))[0]?.status;
}

export function toStoredSchedule(row: ScheduleRow, status = row.last_status ?? undefined): StoredSchedule {
  const { paused_at, paused_by, pause_reason, last_saga, last_at, skipped_at } = row;
  return {
    ...{
      saga: row.saga!,
      cron: row.cron,
      timezone: row.timezone,
      overlap: row.overlap,
      catchUp: row.catch_up,
    },
    ...{ decidedUntil: row.decided_until, nextAt: row.next_at },
    ...(paused_at !== null && {
      paused: withoutNulls<NonNullable<StoredSchedule['paused']>>({
        ...{ at: paused_at, by: paused_by, reason: pause_reason },
      }),
    }),
    ...(last_saga !== null && {
      last: { id: last_saga, at: last_at!, triggered: row.last_triggered!, ...(status && { status }) },
    }),
    ...(skipped_at !== null && { skippedAt: skipped_at }),
  };
}

function parametersOf({ paused, last, ...schedule }: StoredSchedule) {
  return {
    ...schedule,
    skippedAt: schedule.skippedAt ?? null,
    ...{ pausedAt: paused?.at ?? null, pausedBy: paused?.by ?? null, pauseReason: paused?.reason ?? null },
    ...{ lastSaga: last?.id ?? null, lastAt: last?.at ?? null, lastTriggered: last?.triggered ?? null },
  };
}
