/** Why checkpoints were not saved: the epoch tells a lost lease from a cancellation. */
export const unsavedSql = (schema: string): string => `
SELECT id, epoch FROM ${schema}.instance WHERE id = ANY($1::uuid[])`;
