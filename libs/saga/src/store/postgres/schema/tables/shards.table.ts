/** What a database needs as one of several shards: its own row, and the sagas that were moved from it and to it. */
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
        received boolean NOT NULL DEFAULT false
      )`,
  // Sagas that were moved to other shards: with their rows while they are on their way (`sealed`), and where they are
  // (`handed`). Sagas that came back, since the other shard could not take them (`returned`). Never many that are read.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.moved (
        id uuid PRIMARY KEY,
        name text NOT NULL,
        correlation_id text,
        move uuid NOT NULL,
        to_shard text NOT NULL,
        state text NOT NULL,
        rows json,
        at timestamptz NOT NULL DEFAULT now()
      )`,
  `
      CREATE UNIQUE INDEX IF NOT EXISTS moved_correlation ON ${schema}.moved (correlation_id, name)
        WHERE correlation_id IS NOT NULL AND state <> 'returned'`,
  `
      CREATE INDEX IF NOT EXISTS moved_sealed ON ${schema}.moved (id) WHERE state = 'sealed'`,
  // Moves that have arrived here, each once, and those that were refused and never arrive.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.arrived (
        move uuid PRIMARY KEY,
        saga_id uuid NOT NULL,
        refused text,
        at timestamptz NOT NULL DEFAULT now()
      )`,
];
