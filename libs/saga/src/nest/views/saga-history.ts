import type { OperatorAction } from '../../engine/ports/operation.js';
import { decodePayload } from '../../engine/payload/payload.js';
import type { HistoryRecord } from '../../engine/ports/saga-store.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';

/** Something that was done to a saga from outside. */
export interface HistoryEntry {
  /** When, by the database’s clock. */
  readonly at: Date;
  /** What was done. */
  readonly action: OperatorAction | 'signal';
  /** Who did it, if that was said. */
  readonly by?: string;
  /** Why, if that was said. */
  readonly reason?: string;
  /** The step that it was about. */
  readonly step?: string;
  /** The name of a signal. */
  readonly signal?: string;
  /** The saga's status before; undefined for signals. */
  readonly from?: SagaStatus;
  /** Nothing was done: others had to agree. */
  readonly proposed: boolean;
  /** Of a retry: the saga went on with another input. */
  readonly newInput: boolean;
  /** Of a retry with another input: that one. Left out where it is larger than 64 kB, or cannot be decoded here. */
  readonly input?: unknown;
  /** Of a skip with a result: that one. Left out as `input` is. */
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
    ...(told && { [newInput ? 'input' : 'result']: told.value }),
  };
}

/** What cannot be decoded here is stored as a string that is no payload of its own. */
function decodedOrNot(given: string): { readonly value: unknown } | undefined {
  try {
    return { value: decodePayload(given) };
  } catch {
    return undefined;
  }
}
