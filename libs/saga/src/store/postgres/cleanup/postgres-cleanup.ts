import type {
  CleanedBatch,
  CleanupBatch,
  CleanupPlace,
  CleanupStore,
} from '../../../engine/ports/cleanup-store.js';
import type { Sql } from '../connection/sql.js';

interface CleanedRow {
  readonly looked: number;
  readonly gone: number;
  readonly place: string | null;
  readonly place_id: string | null;
}

const FIRST: CleanupPlace = { at: '-infinity', id: '00000000-0000-0000-0000-000000000000' };

/** The deletion of sagas that have ended: see functions/cleanup.sql. */
export class PostgresCleanup implements Omit<CleanupStore, 'ready'> {
  constructor(
    private readonly sql: Sql,
    private readonly schema: string,
  ) {}

  /** A transaction of its own. Undefined: another process runs it. */
  async batch({
    name,
    age,
    most,
    after = FIRST,
    dryRun,
    alone,
  }: CleanupBatch): Promise<CleanedBatch | undefined> {
    const [row] = await this.sql.query<CleanedRow[]>(
      `SELECT looked, gone, place, place_id FROM "${this.schema}".cleanup($1, $2, $3, $4, $5, $6, $7)`,
      [name, age, after.at, after.id, most, dryRun, alone],
    );
    if (!row) return undefined;
    const isLast = row.looked < most;
    return { gone: row.gone, next: isLast ? undefined : { at: row.place!, id: row.place_id! } };
  }

  /** Reads the names of all sagas that were ever deployed in this schema: a row or a few for each. */
  async names(): Promise<string[]> {
    const text = `SELECT DISTINCT name FROM "${this.schema}".graph ORDER BY name`;
    const rows = await this.sql.query<{ name: string }[]>(text);
    return rows.map(({ name }) => name);
  }
}
