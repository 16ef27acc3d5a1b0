/** The limits over all processes: rate limits, slots of steps, and the `limit` of sagas. */
export const limitTables = (schema: string): string[] => [
  // A row for each step with a rate limit, or for each key of it: the times that were last given out, and the limit by which that
  // was. is_ahead: the last of them was yet to come, so that rate_time has all that count. from_at: one before it may be free from
  // then on. idle_at: from when the row of a key says nothing. All in ms.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.rate_limit (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        times float8[] NOT NULL,
        count int NOT NULL,
        per float8 NOT NULL,
        from_at float8,
        is_ahead boolean NOT NULL DEFAULT false,
        idle_at float8,
        PRIMARY KEY (saga, step, key)
      ) WITH (fillfactor = 50)`,
  // A row for each time of a rate limit that was given out while some had to wait. is_used: it was not yet to come. holder: the saga
  // that is to begin then.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.rate_time (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        at float8 NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        is_used boolean NOT NULL,
        holder uuid,
        PRIMARY KEY (saga, step, key, at, number)
      )`,
  `
      CREATE INDEX IF NOT EXISTS rate_limit_idle ON ${schema}.rate_limit (saga, step, idle_at)
        WHERE idle_at IS NOT NULL`,
  // A row for each step with a limit, or for each key of it that is in use.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.step_limit (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        checked_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga, step, key)
      ) WITH (fillfactor = 50)`,
  // A row for each step, or item, that has a slot of such a limit, waits for one in the order of the numbers, was
  // called since one is free, or was called and is late.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.step_slot (
        saga text NOT NULL,
        step text NOT NULL,
        key text NOT NULL,
        saga_id uuid NOT NULL,
        step_key text NOT NULL,
        number bigint GENERATED ALWAYS AS IDENTITY,
        epoch int NOT NULL,
        turn int NOT NULL,
        state text NOT NULL,
        since timestamptz NOT NULL DEFAULT now(),
        called_at timestamptz,
        PRIMARY KEY (saga, step, key, saga_id, step_key)
      )`,
  `
      CREATE INDEX IF NOT EXISTS step_slot_waiting ON ${schema}.step_slot (saga, step, key, number)
        WHERE state = 'waiting'`,
  `
      CREATE INDEX IF NOT EXISTS step_slot_used ON ${schema}.step_slot (saga, step, key) WHERE state <> 'waiting'`,
  // A row for each saga with a limit: who was given a place, and of which key the last one was, whose turn is over.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.saga_limit (
        saga text PRIMARY KEY,
        holders uuid[] NOT NULL DEFAULT '{}',
        crowded boolean NOT NULL DEFAULT false,
        last_key text
      ) WITH (fillfactor = 50)`,
];
