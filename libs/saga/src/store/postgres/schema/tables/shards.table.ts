/** What a database needs as one of several shards: its own row. */
export const shardTables = (schema: string): string[] => [
  // The row of this database as one of several shards. Empty in an application without shards.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.shard (
        single boolean PRIMARY KEY DEFAULT true CHECK (single),
        name text NOT NULL,
        number int NOT NULL,
        founders text[] NOT NULL,
        accepting boolean NOT NULL,
        changed_at timestamptz,
        changed_by text,
        change_reason text,
        closed boolean NOT NULL DEFAULT false
      )`,
];
