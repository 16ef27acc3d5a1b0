import { eachStepColumn } from '../step-row.js';

/** What belongs to one saga: its steps, signals, operations and open tasks. And the ids of those that were deleted. */
export const partTables = (schema: string): string[] => [
  `
      CREATE TABLE IF NOT EXISTS ${schema}.step (
        saga_id uuid NOT NULL,
        name text NOT NULL,
        ${eachStepColumn(({ name, type, constraint }) => `${name} ${type} ${constraint}`)},
        progress json,
        started_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, name)
      )`,
  // What sagas were sent from outside. Those that were taken stay, so that one that is sent again is known.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.signal (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        name text NOT NULL,
        message_id text NOT NULL,
        payload json,
        sent_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`,
  `
      CREATE UNIQUE INDEX IF NOT EXISTS signal_message ON ${schema}.signal (saga_id, message_id)`,
  // What operators did to sagas, or proposed to each other: a row for each call, written with the change itself.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.operation (
        saga_id uuid NOT NULL,
        number int NOT NULL,
        id uuid NOT NULL,
        action text NOT NULL,
        operator text,
        reason text,
        step text,
        from_status text NOT NULL,
        revision int NOT NULL,
        proposed boolean NOT NULL DEFAULT false,
        new_input boolean NOT NULL DEFAULT false,
        given json,
        at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (saga_id, number)
      )`,
  // A row for each step that waits for an operator's decision, and has none yet, of sagas that run: written when that
  // begins and when it ends.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.task (
        saga_id uuid NOT NULL,
        step text NOT NULL,
        saga text NOT NULL,
        since timestamptz NOT NULL,
        PRIMARY KEY (saga_id, step)
      )`,
  // Sagas that were deleted soon after their end: see cleanup.sql.
  `
      CREATE TABLE IF NOT EXISTS ${schema}.deleted (
        id uuid PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT now()
      )`,
  `
      CREATE INDEX IF NOT EXISTS deleted_oldest ON ${schema}.deleted (at)`,
  // The pages of the list: of all, and of a step of a saga.
  `
      CREATE INDEX IF NOT EXISTS task_oldest ON ${schema}.task (since, saga_id, step)`,
  `
      CREATE INDEX IF NOT EXISTS task_of_step ON ${schema}.task (saga, step, since, saga_id)`,
];
