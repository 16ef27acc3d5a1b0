import type { StoredOperation } from '../../../engine/ports/operation.js';
import type { HistoryRecord } from '../../../engine/ports/saga-store.js';
import { type Nullable, withoutNulls } from '../read/without-nulls.js';

/** What the statements of operation.sql.ts give. */
export type OperationJson = Nullable<StoredOperation>;

export interface HistoryRow {
  readonly entry: HistoryJson;
}

type HistoryJson = OperationJson | Extract<HistoryRecord, { action: 'signal' }>;

export function toStoredOperation(json: OperationJson): StoredOperation {
  return withoutNulls(json);
}

export function toHistoryRecord(entry: HistoryJson): HistoryRecord {
  return 'signal' in entry ? entry : toStoredOperation(entry);
}
