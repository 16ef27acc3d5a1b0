import type { StoredOperation } from '../../../engine/ports/operation.js';
import type { HistoryRecord } from '../../../engine/ports/saga-store.js';

/** What the statements of operation.sql.ts give. */
export type OperationJson = { [K in keyof StoredOperation]-?: StoredOperation[K] | null };

export interface HistoryRow {
  readonly entry: HistoryJson;
}

type HistoryJson = OperationJson | Extract<HistoryRecord, { action: 'signal' }>;

export function toStoredOperation({
  by,
  reason,
  step,
  newInput,
  given,
  ...rest
}: OperationJson): StoredOperation {
  return {
    ...(rest as Omit<StoredOperation, 'by' | 'reason' | 'step' | 'newInput' | 'given'>),
    ...(by !== null && { by }),
    ...(reason !== null && { reason }),
    ...(step !== null && { step }),
    ...(newInput === true && { newInput }),
    ...(given !== null && { given }),
  };
}

export function toHistoryRecord(entry: HistoryJson): HistoryRecord {
  return 'signal' in entry ? entry : toStoredOperation(entry);
}
