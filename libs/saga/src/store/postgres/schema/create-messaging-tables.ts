import { LANES } from '../outbox/postgres-outbox.js';
import { functionsIn } from '../sql-texts.js';

/**
 * The statements that create the outbox and the inbox, which participants without sagas have as well. Idempotent, so that it may be applied by
 * either module and by users' own runs alike.
 * @param name the schema's name, unquoted
 */
export const createMessagingTables = (name: string): string[] => {
  const schema = `"${name}"`;
  return [
    `CREATE SCHEMA IF NOT EXISTS ${schema}`,
    // id, aggregatetype (topic), aggregateid (key), type and payload are what outbox event routers read by default.
    // seq: the order. bytes: for pages, which are bounded by them. held: not to be sent now, because of itself (retry_at, dead_at) or of one before it with its key.
    `
      CREATE TABLE IF NOT EXISTS ${schema}.outbox (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        seq bigint GENERATED ALWAYS AS IDENTITY,
        aggregatetype text NOT NULL,
        aggregateid text NOT NULL,
        type text NOT NULL,
        payload json,
        headers jsonb NOT NULL DEFAULT '{}',
        lane smallint NOT NULL GENERATED ALWAYS AS
          ((hashtextextended(aggregatetype || ' ' || aggregateid, 0) & ${LANES - 1})::smallint) STORED,
        bytes int NOT NULL GENERATED ALWAYS AS
          (coalesce(octet_length(payload::text), 0) + octet_length(headers::text)) STORED,
        held boolean NOT NULL DEFAULT false,
        attempts int NOT NULL DEFAULT 0,
        retry_at timestamptz,
        dead_at timestamptz,
        error text,
        created_at timestamptz NOT NULL DEFAULT now()
      )`,
    // What is to be sent, by lane and in order; what is held costs nothing here.
    `
      CREATE INDEX IF NOT EXISTS outbox_ready ON ${schema}.outbox (lane, seq) WHERE NOT held`,
    // The line behind a message that could not be sent.
    `
      CREATE INDEX IF NOT EXISTS outbox_held ON ${schema}.outbox (lane, aggregatetype, aggregateid, seq) WHERE held`,
    `
      CREATE INDEX IF NOT EXISTS outbox_retry ON ${schema}.outbox (lane, retry_at) WHERE retry_at IS NOT NULL`,
    `
      CREATE INDEX IF NOT EXISTS outbox_dead ON ${schema}.outbox (dead_at, id) WHERE dead_at IS NOT NULL`,
    // Who sends what; a few updates a second of rows that never grow (HOT). The last columns: see relay-order.sql.
    `
      CREATE TABLE IF NOT EXISTS ${schema}.outbox_lane (
        lane smallint PRIMARY KEY,
        epoch bigint NOT NULL DEFAULT 0,
        leased_by text,
        leased_until timestamptz NOT NULL DEFAULT '-infinity',
        served_at timestamptz NOT NULL DEFAULT '-infinity',
        may_hold boolean NOT NULL DEFAULT true,
        read_to bigint NOT NULL DEFAULT 0,
        read_in pg_snapshot,
        mark_xids xid8[] NOT NULL DEFAULT '{}',
        mark_seqs bigint[] NOT NULL DEFAULT '{}',
        safe_from bigint NOT NULL DEFAULT 0,
        read_from_start_at timestamptz NOT NULL DEFAULT '-infinity'
      ) WITH (fillfactor = 50)`,
    `
      INSERT INTO ${schema}.outbox_lane (lane) SELECT generate_series(0, ${LANES - 1}) ON CONFLICT DO NOTHING`,
    // One row: does no relay look often by itself, so that it has to be woken?
    `
      CREATE TABLE IF NOT EXISTS ${schema}.relay (
        id smallint PRIMARY KEY CHECK (id = 1),
        asleep boolean NOT NULL
      ) WITH (fillfactor = 50)`,
    `INSERT INTO ${schema}.relay VALUES (1, true) ON CONFLICT DO NOTHING`,
    `
      CREATE TABLE IF NOT EXISTS ${schema}.inbox (
        consumer text NOT NULL,
        message_id text NOT NULL,
        handled_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, message_id)
      )`,
    `CREATE INDEX IF NOT EXISTS inbox_handled ON ${schema}.inbox (handled_at)`,
    ...functionsIn('schema/messaging', name),
  ];
};
