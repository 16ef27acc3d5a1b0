import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../../support/test-database.js';
import { LEDGER_TABLE } from '../programs/ledger.saga.js';
import { PARTICIPANT_TABLE } from '../programs/participants.js';
import { unexplained } from '../rig/src/unexplained.js';

/** The sagas' database and that of the participants, each with a pool to look into it. */
export interface ChaosDatabases {
  readonly sagas: pg.Pool;
  readonly participants: pg.Pool;
  /** For worker processes. */
  readonly environment: Record<string, string>;
  /** Also fails if a saga is left that nothing will move. */
  drop(): Promise<void>;
}

export async function createChaosDatabases(
  create: () => Promise<TestDatabase> = createTestDatabase,
): Promise<ChaosDatabases> {
  const [a, b] = [await create(), await createTestDatabase()];
  const [sagas, participants] = [a, b].map(({ url }) => quietPool(url)) as [pg.Pool, pg.Pool];
  await participants.query(PARTICIPANT_TABLE);
  await sagas.query(LEDGER_TABLE);
  return {
    sagas,
    participants,
    environment: { DATABASE_URL: a.url, PARTICIPANT_URL: b.url },
    drop: async () => {
      const left = await unexplained(sagas);
      await Promise.all([sagas.end(), participants.end()]);
      await Promise.all([a.drop(), b.drop()]);
      if (left.length > 0) throw new Error(`Nothing will move: ${left.join('; ')}`);
    },
  };
}

export function quietPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  pool.on('error', () => undefined);
  return pool;
}

/** The sagas that have neither completed nor been compensated, each with its steps. */
export async function unfinished({ sagas }: ChaosDatabases): Promise<unknown[]> {
  const { rows } = await sagas.query<object>(
    `SELECT i.*, (SELECT json_agg(s) FROM saga.step s WHERE s.saga_id = i.id) AS steps FROM saga.instance i
     WHERE status NOT IN ('completed', 'compensated')`,
  );
  return rows;
}

/**
 * Polls until the condition holds, at most `timeout` ms. For events in other processes that send no
 * notification.
 */
export async function eventually<T>(
  look: () => Promise<T>,
  isSo: (found: T) => boolean,
  timeout = 120_000,
): Promise<T> {
  const deadline = performance.now() + timeout;
  for (;;) {
    const found = await look();
    if (isSo(found)) return found;
    if (performance.now() > deadline)
      throw new Error(`It never became so; at last: ${JSON.stringify(found).slice(0, 4_000)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
