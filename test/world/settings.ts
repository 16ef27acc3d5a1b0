/** Settings of the database, its connections, or the process that the library does not control. */
export interface WorldRow {
  /** As in docs/compatibility.md. */
  readonly name: string;
  /** For docs/compatibility.md: what the engine does under it. */
  readonly does: string;
  /** Settings of the database, as by ALTER DATABASE … SET. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Connections of each process. Default: 10. */
  readonly poolSize?: number;
  /** One of the two processes has this many connections, and no worker. */
  readonly callerPoolSize?: number;
  /** The mode of the pgbouncer in between. */
  readonly pooler?: 'session' | 'transaction' | 'statement';
  /** Type parsers of the application, for the whole process: by PostgreSQL's number of the type. */
  readonly parsers?: Readonly<Record<number, (text: string) => unknown>>;
  /** The start is refused with this. Default: the whole program runs. */
  readonly refused?: RegExp;
}

const set = (settings: Record<string, string>, does: string, more: Partial<WorldRow> = {}): WorldRow => ({
  name: Object.entries(settings)
    .map(([name, value]) => `${name} = ${value === '' ? "''" : value}`)
    .join(', '),
  does,
  settings,
  ...more,
});

const SAME = 'Runs; nothing depends on it.';
const REFUSED = 'The start is refused, with the reason.';
const OWN_LEVEL =
  'Runs; the engine names the level of its own transactions. Yours are at the level that you set.';
const TIMES_AS_NUMBERS = 'Runs; the engine reads times as numbers.';
const NAMED = 'Runs; every statement names its schema.';
const OWN_PARSERS = 'Runs; the engine reads what it asks for by parsers of its own.';
const POLLS = 'Runs; LISTEN does not arrive there, so that polling does its work.';

/** What has not been read by the application's own parsers is what the engine has read. */
const SHOUTED = (text: string): unknown => ({ parsedBy: 'the application', text });
const NUMBERS = { int8: 20, int2: 21, int4: 23, oid: 26, float4: 700, float8: 701, numeric: 1700 };
const JSONS = { json: 114, jsonb: 3802 };
const TIMES = { date: 1082, timestamp: 1114, timestamptz: 1184, interval: 1186 };
const ARRAYS = {
  bool: 1000,
  int2: 1005,
  int4: 1007,
  text: 1009,
  float8: 1022,
  timestamptz: 1185,
  uuid: 2951,
};
/** All but text and name: TypeORM itself reads those. */
const OTHERS = { bool: 16, bytea: 17, uuid: 2950, varchar: 1043 };
const parsers = (types: Record<string, number>) =>
  Object.fromEntries(Object.values(types).map((type) => [type, SHOUTED]));

export const WORLD: readonly WorldRow[] = [
  { name: 'defaults', does: 'Runs.' },
  set({ default_transaction_isolation: 'repeatable read' }, OWN_LEVEL),
  set({ default_transaction_isolation: 'serializable' }, OWN_LEVEL),
  set({ default_transaction_deferrable: 'on', default_transaction_isolation: 'serializable' }, OWN_LEVEL),
  set({ default_transaction_read_only: 'on' }, REFUSED, { refused: /read-only by default/ }),
  set({ DateStyle: 'German' }, TIMES_AS_NUMBERS),
  set({ DateStyle: 'SQL, DMY', TimeZone: 'Asia/Kathmandu' }, TIMES_AS_NUMBERS),
  set({ TimeZone: 'America/St_Johns' }, TIMES_AS_NUMBERS),
  set({ search_path: '' }, NAMED),
  set({ search_path: 'nowhere, pg_catalog' }, NAMED),
  set({ bytea_output: 'escape', xmloption: 'document' }, SAME),
  set({ standard_conforming_strings: 'off', escape_string_warning: 'off', backslash_quote: 'off' }, SAME),
  set({ array_nulls: 'off' }, REFUSED, { refused: /array_nulls is off and must be on/ }),
  set({ extra_float_digits: '0' }, SAME),
  set({ extra_float_digits: '-15' }, REFUSED, { refused: /extra_float_digits is -15 and must be 1/ }),
  set(
    { statement_timeout: '10s', lock_timeout: '5s' },
    'Runs; statements are short, and made again where one times out.',
  ),
  set(
    { idle_in_transaction_session_timeout: '1s', idle_session_timeout: '1s' },
    'Runs; lost connections are replaced. A transactional step whose method sends nothing for longer is rolled back and counts as failed.',
  ),
  set(
    { synchronous_commit: 'off' },
    'Runs; the server may lose the last commits in a crash, as with any application.',
  ),
  set({ session_replication_role: 'replica' }, 'Runs; there are no triggers or foreign keys to switch off.'),
  set({ row_security: 'off' }, SAME),
  set({ client_min_messages: 'debug1', log_statement: 'all' }, SAME),
  set({ client_encoding: 'LATIN1' }, 'Runs; pg sets UTF8 for each connection.'),
  set({ application_name: 'billing', lc_messages: 'C', lc_numeric: 'C' }, SAME),
  set({ jit: 'on', jit_above_cost: '0', plan_cache_mode: 'force_custom_plan' }, 'Runs; slower.'),
  set(
    {
      enable_indexscan: 'off',
      enable_bitmapscan: 'off',
      enable_indexonlyscan: 'off',
      enable_nestloop: 'off',
    },
    'Runs; the functions of the engine pin their own plans.',
  ),
  set({ work_mem: '64kB', temp_buffers: '800kB', from_collapse_limit: '1', join_collapse_limit: '1' }, SAME),
  set({ transform_null_equals: 'on', quote_all_identifiers: 'on', check_function_bodies: 'off' }, SAME),
  { name: 'type parsers of numbers and JSON', does: OWN_PARSERS, parsers: parsers({ ...NUMBERS, ...JSONS }) },
  {
    name: 'type parsers of all types but text and name',
    does: `${OWN_PARSERS} TypeORM itself reads text and name.`,
    parsers: { ...parsers({ ...NUMBERS, ...JSONS, ...TIMES, ...OTHERS }), ...parsers(ARRAYS) },
  },
  {
    name: 'pool of 1',
    does: REFUSED,
    poolSize: 1,
    refused: /pool of at least 2 connections, .* has 1\. Set poolSize/,
  },
  { name: 'pool of 1 in a process without worker', does: 'Runs.', callerPoolSize: 1 },
  { name: 'pool of 2', does: 'Runs; one transactional step at a time.', poolSize: 2 },
  { name: 'pgbouncer, session mode', does: SAME, pooler: 'session' },
  { name: 'pgbouncer, transaction mode', does: POLLS, pooler: 'transaction' },
  {
    name: 'pgbouncer, transaction mode, default_transaction_isolation = serializable',
    does: POLLS,
    pooler: 'transaction',
    settings: { default_transaction_isolation: 'serializable' },
  },
  {
    name: 'pgbouncer, statement mode',
    does: REFUSED,
    pooler: 'statement',
    refused: /requires transactions of several statements, but the pooler .* is in statement mode/,
  },
];
