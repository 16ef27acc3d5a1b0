/** How far sagas have come, and why checkpoints were not saved: the epoch tells a lost lease, the number one that is there already; else it was a cancellation. */
export const unsavedSql = (schema: string): string =>
  `SELECT id, epoch, checkpoints FROM ${schema}.instance WHERE id = ANY($1::uuid[])`;
