import type { StoredOperation } from '../../engine/operation.js';
import type { HistoryRecord } from '../../engine/saga-store.js';

/** What the statements of operation.sql.ts give. */
export type OperationJson = { [K in keyof StoredOperation]-?: StoredOperation[K] | null };

export interface HistoryRow {
  readonly entry: HistoryJson;
}

type HistoryJson = OperationJson | Extract<HistoryRecord, { action: 'signal' }>;

export function toStoredOperation({ by, reason, step, newInput, ...rest }: OperationJson): StoredOperation {
  return {
    ...(rest as Omit<StoredOperation, 'by' | 'reason' | 'step' | 'newInput'>),
    ...(by !== null && { by }),
    ...(reason !== null && { reason }),
    ...(step !== null && { step }),
    ...(newInput === true && { newInput }),
  };
}

export function toHistoryRecord(entry: HistoryJson): HistoryRecord {
  return 'signal' in entry ? entry : toStoredOperation(entry);
}
