import type { SagaStatus } from '../../definition/types/saga-status.js';
import type { StartResult } from '../../engine/ports/saga-store.js';
import type { NewSaga } from '../../engine/ports/stored-saga.js';
import {
  type ScheduleEdit,
  type StoredSchedule,
  withStarted,
  withStatus,
} from '../../engine/ports/stored-schedule.js';
import { isTerminal } from '../../machine/saga-state.js';
import { requireStorable, storedCopy } from './stored-copy.js';

/** The schedules of sagas, in memory. */
export class MemorySchedules {
  private readonly rows = new Map<string, StoredSchedule>();

  constructor(private readonly statusOf: (id: string) => SagaStatus | undefined) {}

  all(): StoredSchedule[] {
    const names = [...this.rows.keys()].sort();
    return names.map((name) => this.read(name)!);
  }

  edit(
    saga: string,
    change: (stored: StoredSchedule | undefined) => ScheduleEdit | undefined,
    start: (saga: NewSaga) => StartResult,
  ): { readonly schedule: StoredSchedule; readonly start?: StartResult } | undefined {
    const before = this.read(saga);
    const edit = change(before);
    if (!edit) return undefined;
    requireStorable(edit.schedule, 'schedule');
    const started = edit.start && start(edit.start);
    this.rows.set(saga, storedCopy(withStarted(edit.schedule, started, before)));
    return { schedule: this.read(saga)!, ...(started && { start: started }) };
  }

  private read(saga: string): StoredSchedule | undefined {
    const row = this.rows.get(saga);
    if (!row?.last) return storedCopy(row);
    const status = this.statusOf(row.last.id);
    return storedCopy(withStatus(row, status && isTerminal(status) ? undefined : status));
  }
}
