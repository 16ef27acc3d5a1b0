/** What somebody else has decided about the database, its connections, or the process. */
export interface WorldRow {
  /** As in docs/compatibility.md. */
  readonly name: string;
  /** For docs/compatibility.md: what the engine does under it. */
  readonly does: string;
  /** Of the database: as a DBA would ALTER DATABASE … SET. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Connections of each process. Default: 10. */
  readonly poolSize?: number;
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

const SAME = 'No difference.';

/** What has not been read by the application's own parsers is what the engine has read. */
const SHOUTED = (text: string): unknown => ({ parsedBy: 'the application', text });
const PARSED = { bool: 16, int8: 20, int2: 21, int4: 23, json: 114, jsonb: 3802, numeric: 1700, float8: 701 };
const parsers = (types: Record<string, number>) =>
  Object.fromEntries(Object.values(types).map((type) => [type, SHOUTED]));

export const WORLD: readonly WorldRow[] = [
  { name: 'defaults', does: SAME },
  set({ default_transaction_isolation: 'repeatable read' }, SAME),
  set({ default_transaction_isolation: 'serializable' }, SAME),
  set({ default_transaction_deferrable: 'on', default_transaction_isolation: 'serializable' }, SAME),
  set({ default_transaction_read_only: 'on' }, 'refused', { refused: /read-only by default/ }),
  set({ DateStyle: 'German' }, SAME),
  set({ DateStyle: 'SQL, DMY', TimeZone: 'Asia/Kathmandu' }, SAME),
  set({ TimeZone: 'America/St_Johns' }, SAME),
  set({ search_path: '' }, SAME),
  set({ search_path: 'nowhere, pg_catalog' }, SAME),
  set({ bytea_output: 'escape', xmloption: 'document' }, SAME),
  set({ standard_conforming_strings: 'off', escape_string_warning: 'off', backslash_quote: 'off' }, SAME),
  set({ extra_float_digits: '0' }, SAME),
  set({ statement_timeout: '10s', lock_timeout: '5s' }, SAME),
  set({ idle_in_transaction_session_timeout: '1s', idle_session_timeout: '1s' }, SAME),
  set({ synchronous_commit: 'off' }, SAME),
  set({ session_replication_role: 'replica' }, SAME),
  set({ row_security: 'off' }, SAME),
  set({ client_min_messages: 'debug1', log_statement: 'all' }, SAME),
  set({ client_encoding: 'LATIN1' }, SAME),
  set({ application_name: 'billing', lc_messages: 'C', lc_numeric: 'C' }, SAME),
  set({ jit: 'on', jit_above_cost: '0', plan_cache_mode: 'force_custom_plan' }, SAME),
  set(
    {
      enable_indexscan: 'off',
      enable_bitmapscan: 'off',
      enable_indexonlyscan: 'off',
      enable_nestloop: 'off',
    },
    SAME,
  ),
  set({ work_mem: '64kB', temp_buffers: '800kB', from_collapse_limit: '1', join_collapse_limit: '1' }, SAME),
  set({ transform_null_equals: 'on', quote_all_identifiers: 'on', check_function_bodies: 'off' }, SAME),
  { name: 'type parsers, some', does: SAME, parsers: parsers(PARSED) },
  { name: 'pool of 2', does: SAME, poolSize: 2 },
  { name: 'pgbouncer, session mode', does: SAME, pooler: 'session' },
  { name: 'pgbouncer, transaction mode', does: SAME, pooler: 'transaction' },
  {
    name: 'pgbouncer, transaction mode, default_transaction_isolation = serializable',
    does: SAME,
    pooler: 'transaction',
    settings: { default_transaction_isolation: 'serializable' },
  },
];
