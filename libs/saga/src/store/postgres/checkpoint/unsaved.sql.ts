/** More than any saga has: nothing of one that was moved to another shard is put back here. */
const BEYOND = 2_147_483_647;

/** How far sagas have come, and why checkpoints were not saved: the epoch tells a lost lease, the number one that is there already; else it was a cancellation. */
export const unsavedSql = (schema: string): string => `
SELECT id, epoch, checkpoints FROM ${schema}.instance WHERE id = ANY($1::uuid[])
UNION ALL
SELECT id, ${BEYOND}, ${BEYOND} FROM ${schema}.moved WHERE id = ANY($1::uuid[]) AND state <> 'returned'`;
