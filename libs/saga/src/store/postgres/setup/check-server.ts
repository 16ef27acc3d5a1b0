import { SagaConfigurationError } from '../../../errors.js';
import type { EngineSql } from '../connection/engine-sql.js';
import { homeOf } from '../connection/home-database.js';
import { IS_RAISED } from '../connection/isolation.js';
import type { Needs } from './needs.js';
import { StandbyError } from './wait-for-promotion.js';

/** The oldest major version that is tried with each change: see docs/compatibility.md. */
const OLDEST = 15;

/** What a role has to be allowed on each table. */
const RIGHTS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** Settings under which the engine would store or read other values than it was given, and how they have to be. */
const SETTINGS: Readonly<Record<string, { isRight: (value: string) => boolean; right: string }>> = {
  array_nulls: { isRight: (value) => value === 'on', right: 'on' },
  extra_float_digits: { isRight: (value) => Number(value) >= 0, right: '1' },
};

interface ServerRow {
  readonly version: number;
  readonly release: string;
  readonly standby: boolean;
  readonly read_only: boolean;
  /** The server's default isolation level is another one than the engine's. */
  readonly raised: boolean;
  /** In the order of SETTINGS. */
  readonly settings: string[];
  readonly role: string;
  readonly database: string;
  readonly address: string;
  /** `table instance: INSERT, UPDATE`, of what is there. */
  readonly denied: string[];
}

/**
 * By the catalog, which everybody may read: names are resolved only for who has USAGE on their schema. One round trip
 * when an application starts, and none later.
 */
const ASK = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS release,
    pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::boolean AS read_only,
    ${IS_RAISED} AS raised, ARRAY[${Object.keys(SETTINGS)
      .map((name) => `current_setting('${name}')`)
      .join(', ')}] AS settings,
    current_user::text AS role, current_database()::text AS database,
    coalesce(host(inet_server_addr()) || ':' || inet_server_port(), 'a local socket') AS address,
    ARRAY(
      SELECT d.what || ' ' || d.name || ': ' || string_agg(d.lacks, ', ' ORDER BY d.place)
      FROM (
        SELECT 0 AS kind, 'schema' AS what, n.nspname::text AS name, 'USAGE' AS lacks, 1 AS place
        FROM pg_namespace n WHERE n.nspname = $1 AND NOT has_schema_privilege(n.oid, 'USAGE')
          AND EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname = ANY($2::text[]))
        UNION ALL
        SELECT 1, 'table', c.relname, r.name, r.place
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
          unnest($3::text[]) WITH ORDINALITY AS r (name, place)
        WHERE n.nspname = $1 AND c.relname = ANY($2::text[]) AND c.relkind IN ('r', 'p')
          AND NOT has_table_privilege(c.oid, r.name)
        UNION ALL
        SELECT 2, 'sequence', c.relname, 'USAGE', 1
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = ANY($4::text[]) AND c.relkind = 'S'
          AND NOT has_sequence_privilege(c.oid, 'USAGE')
        UNION ALL
        SELECT 3, 'function', p.proname, 'EXECUTE', 1
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
        WHERE n.nspname = $1 AND p.proname = ANY($5::text[]) AND NOT has_function_privilege(p.oid, 'EXECUTE')) d
      GROUP BY d.kind, d.what, d.name ORDER BY d.kind, d.name
    ) AS denied`;

/**
 * Whether sagas can be kept on this server, by this role.
 * @throws StandbyError when the server is a standby
 * @throws SagaConfigurationError when the server is too old or only to be read from, when its settings change values, or
 * when the role may not use the schema, or tables, sequences or functions that are there in it
 */
export async function checkServer(sql: EngineSql, schema: string, needs: Needs): Promise<void> {
  const [server] = await sql.query<[ServerRow]>(ASK, [
    ...[schema, needs.tables, RIGHTS],
    ...[needs.sequences, needs.functions],
  ]);
  sql.isolation.isRaised ||= server.raised;
  await homeOf(sql.pool).learn(sql);
  if (server.standby) throw isStandby(server, needs);
  const problem =
    tooOld(server, needs) ??
    onlyToBeRead(server, needs) ??
    changesValues(server, needs) ??
    forbidden(server, schema, needs);
  if (problem !== undefined) throw new SagaConfigurationError(problem);
  await requireTransactions(sql, needs.module);
}

function tooOld({ version, release, database, address }: ServerRow, { module }: Needs): string | undefined {
  if (version >= OLDEST * 10_000) return undefined;
  return (
    `${module} needs PostgreSQL ${OLDEST} or later, but the server of database '${database}' at ${address} is ` +
    `${release}. Upgrade the server, or connect the application to another server.`
  );
}

function isStandby({ database, address }: ServerRow, { module }: Needs): StandbyError {
  return new StandbyError(
    `${module} must write, but the server of database '${database}' at ${address} is a standby (a read replica), ` +
      `which is read-only. Connect the application to the primary server.`,
  );
}

/** What would be written next fails; better to say so now than to retry for as long as the server stays like that. */
function onlyToBeRead(server: ServerRow, { module }: Needs): string | undefined {
  const { read_only: readOnly, database, address, role } = server;
  if (!readOnly) return undefined;
  return (
    `${module} must write, but transactions of role '${role}' in database '${database}' at ${address} are read-only ` +
    `by default (default_transaction_read_only). Set it to off for the role, the database or the connection.`
  );
}

function changesValues({ settings }: ServerRow, { module }: Needs): string | undefined {
  const wrong = Object.entries(SETTINGS).flatMap(([name, { isRight, right }], n) =>
    isRight(settings[n]!) ? [] : [`${name} is ${settings[n]} and must be ${right}`],
  );
  if (wrong.length === 0) return undefined;
  return (
    `${module} cannot store and read values exactly with these settings: ${wrong.join('; ')}. Set them for the role or the database ` +
    `(ALTER ROLE … SET …), or remove them from the options of the connection.`
  );
}

function forbidden({ denied, role }: ServerRow, schema: string, { module }: Needs): string | undefined {
  if (denied.length === 0) return undefined;
  const grants = [
    `USAGE ON SCHEMA "${schema}"`,
    `${RIGHTS.join(', ')} ON ALL TABLES IN SCHEMA "${schema}"`,
    `USAGE ON ALL SEQUENCES IN SCHEMA "${schema}"`,
    `EXECUTE ON ALL FUNCTIONS IN SCHEMA "${schema}"`,
  ].map((grant) => `GRANT ${grant} TO "${role}";`);
  return (
    `${module} lacks privileges in schema '${schema}': role '${role}' lacks ${denied.join('; ')}. Run as the owner: ` +
    grants.join(' ')
  );
}

/** What pgbouncer answers to BEGIN in statement mode. */
const STATEMENT_MODE = /statement pooling/i;

/**
 * A pooler in statement mode gives each statement a connection of its own, and has no transactions.
 * @throws SagaConfigurationError when there is one in between
 */
async function requireTransactions(sql: EngineSql, module: string): Promise<void> {
  try {
    await sql.transaction(() => Promise.resolve());
  } catch (error) {
    if (!STATEMENT_MODE.test((error as Error).message)) throw error;
    throw new SagaConfigurationError(
      `${module} requires transactions of several statements, but the pooler between this process and PostgreSQL is in ` +
        `statement mode. Set pool_mode to transaction or session for this database in pgbouncer.ini.`,
      { cause: error },
    );
  }
}
