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

const SAME = 'No difference.';

export const WORLD: readonly WorldRow[] = [
  { name: 'defaults', does: SAME },
  { name: 'pool of 2', does: SAME, poolSize: 2 },
  { name: 'pgbouncer, session mode', does: SAME, pooler: 'session' },
  { name: 'pgbouncer, transaction mode', does: SAME, pooler: 'transaction' },
];
