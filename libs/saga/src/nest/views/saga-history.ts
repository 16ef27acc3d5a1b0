import { type CallName, factsOf } from '../../engine/ports/call-table.js';
import type { RecordedAction } from '../../engine/ports/operation.js';
import { decodePayload } from '../../engine/payload/payload.js';
import type { HistoryRecord } from '../../engine/ports/saga-store.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';

/** An operator action on a saga, a signal, or what a process put back after a failover. */
export interface HistoryEntry {
  /** The time of the action, by the database's clock. */
  readonly at: Date;
  /** The action. */
  readonly action: RecordedAction | 'signal';
  /** The operator, if the call named one. */
  readonly by?: string;
  /** The reason, if the call gave one. */
  readonly reason?: string;
  /** The step of the action. */
  readonly step?: string;
  /** The name of the signal. */
  readonly signal?: string;
  /** The saga's status before the action. Undefined for signals. */
  readonly from?: SagaStatus;
  /** Whether the action was only proposed, because other operators had to approve it. */
  readonly proposed: boolean;
  /** Whether a retry replaced the input. */
  readonly newInput: boolean;
  /** The new input of a retry. Omitted if it is larger than 64 kB or cannot be decoded here. */
  readonly input?: unknown;
  /** To when `reschedule()` moved the step: an ISO date, or the milliseconds from the call, as in `3600000 ms`. */
  readonly to?: string;
  /** The result of a resolved step. Omitted under the same conditions as `input`. */
  readonly result?: unknown;
}

export function toHistoryEntry(record: HistoryRecord): HistoryEntry {
  const at = new Date(record.at);
  if ('signal' in record)
    return { at, action: 'signal', signal: record.signal, proposed: false, newInput: false };
  const { action, by, reason, step, from, proposed, newInput = false, given } = record;
  const told = given === undefined ? undefined : decodedOrNot(given);
  return {
    ...{ at, action, by, reason, step, from, proposed, newInput },
    ...(told && action !== 'put-back' && { [nameOfGiven(action)]: told.value }),
  };
}

/** Under which name a history has what a call was given: the JSON, or the time. */
function nameOfGiven(action: CallName): string {
  const [name] = Object.entries(factsOf(action).options).find(([, { type }]) => type === 'json') ?? ['to'];
  return name;
}

/** What cannot be decoded here is stored as a string that is no payload of its own. */
function decodedOrNot(given: string): { readonly value: unknown } | undefined {
  try {
    return { value: decodePayload(given) };
  } catch {
    return undefined;
  }
}
