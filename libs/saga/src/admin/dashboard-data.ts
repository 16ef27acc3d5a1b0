import type { STATUS_GROUPS } from '../definition/types/saga-status.js';
import type { StepSnapshot } from '../nest/views/saga-snapshot.js';
import type { TimelineEntry } from '../nest/views/timeline.js';
import type { AllowedAction } from './allowed-actions.js';
import type { AdminTask } from './controllers/tasks.controller.js';
import type { AdminHistoryEntry, AdminSaga, AdminSummary } from './saga-views.js';

/** A value as the dashboard receives it: JSON has no dates. */
type Json<T> = T extends Date ? string : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

// The answers of the REST API, for the type check of the dashboard's scripts.
export type StatusGroups = typeof STATUS_GROUPS;
export type ShownSaga = Json<AdminSaga>;
export type ShownSummary = Json<AdminSummary>;
export type ShownTask = Json<AdminTask>;
export type ShownStep = Json<StepSnapshot>;
export type ShownAction = Json<AllowedAction>;
export type ShownEvent = Json<TimelineEntry>;
export type ShownHistoryEntry = Json<AdminHistoryEntry>;
