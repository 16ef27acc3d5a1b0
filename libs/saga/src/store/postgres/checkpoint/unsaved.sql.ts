import { BEYOND } from '../../../engine/ports/put-back.js';

/**
 * How far sagas have come, and why checkpoints were not saved: the epoch tells a lost lease, the number one that is there already; else it was a cancellation.
 * Those that were deleted are `BEYOND`: nothing of them is put back.
 */
export const unsavedSql = (schema: string): string => `
SELECT id, epoch, checkpoints FROM ${schema}.instance WHERE id = ANY($1::uuid[])
UNION ALL
SELECT d.id, ${BEYOND}, ${BEYOND} FROM ${schema}.deleted d WHERE d.id = ANY($1::uuid[])
  AND NOT EXISTS (SELECT FROM ${schema}.instance i WHERE i.id = d.id)`;
