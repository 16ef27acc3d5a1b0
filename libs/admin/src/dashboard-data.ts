import type { StepSnapshot } from 'nestjs-durable-saga';
import type { TimelineEntry } from 'nestjs-durable-saga/operators';
import {
  type AllowedCall,
  CALL_NAMES,
  type CallFacts,
  type CallName,
  type CallOption,
  type STATUS_GROUPS,
  factsOf,
  isBulk,
} from 'nestjs-durable-saga/internal';
import { BULK_TEXTS, type Dialog, DIALOGS, FIELD_LABELS } from './call-dialogs.js';
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
export type ShownAction = Json<AllowedCall>;
export type ShownEvent = Json<TimelineEntry>;
export type ShownHistoryEntry = Json<AdminHistoryEntry>;

/** The dialog of an operator's call, for the scripts of the dashboard. */
export interface ActionDialog extends Dialog, Pick<CallFacts, 'decides' | 'sends' | 'compensates' | 'done'> {
  /** What the dialog of the call on many sagas says; undefined: there is none. */
  readonly many?: string;
  /** What it asks for, beside the reason and the operator. */
  readonly fields: readonly (CallOption & { readonly name: string; readonly label: string })[];
}

/** The dialogs of all calls, in the order in which they are offered. */
export function actionDialogs(): Record<CallName, ActionDialog> {
  const dialogs = CALL_NAMES.map((kind) => {
    const { decides, sends, compensates, done, options } = factsOf(kind);
    const fields = Object.entries(options).flatMap(([name, option]) => {
      const label = FIELD_LABELS[name];
      return label === undefined ? [] : [{ name, label, ...option }];
    });
    const facts = { decides, sends, compensates, done, ...(isBulk(kind) && { many: BULK_TEXTS[kind] }) };
    return [kind, { ...DIALOGS[kind], ...facts, fields }];
  });
  return Object.fromEntries(dialogs) as Record<CallName, ActionDialog>;
}
