/** What applies to all sagas of a name: their schedule, and the steps that operators have paused. */
export const scheduleAndPauseTables = (schema: string): string[] => [
  // A row for each saga with a schedule: up to when its ticks are decided, and what it started last.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.schedule (
        saga text PRIMARY KEY,
        cron text NOT NULL,
        timezone text NOT NULL,
        overlap text NOT NULL,
        catch_up text NOT NULL,
        decided_until timestamptz NOT NULL,
        next_at timestamptz NOT NULL,
        paused_at timestamptz,
        paused_by text,
        pause_reason text,
        last_saga uuid,
        last_at timestamptz,
        last_triggered boolean,
        skipped_at timestamptz
      ) WITH (fillfactor = 50)`,
  // A row for each pause of a step of all sagas of a name. Rows stay, as a record of who paused and resumed what. woken: it
  // was resumed, and the sagas that waited for it are due.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.step_pause (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        saga text NOT NULL,
        step text NOT NULL,
        paused_at timestamptz NOT NULL DEFAULT now(),
        paused_by text,
        pause_reason text,
        resumed_at timestamptz,
        resumed_by text,
        resume_reason text,
        woken boolean NOT NULL DEFAULT false
      )`,
  `
      CREATE UNIQUE INDEX IF NOT EXISTS step_pause_active ON ${schema}.step_pause (saga, step) WHERE resumed_at IS NULL`,
];
