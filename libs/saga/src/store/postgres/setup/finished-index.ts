import { randomUUID } from 'node:crypto';
import { SagaConfigurationError } from '../../../errors.js';
import type { EngineConnection, EngineSql } from '../connection/engine-sql.js';
import { finishedIndexSql } from '../schema/finished-index.sql.js';
import { disableTimeouts } from './disable-timeouts.js';

/** Milliseconds. */
const STOP_EVERY = 50;
/**
 * The errors when two processes begin at the same moment: a deadlock, a catalog's row that both change, an index that
 * exists by now, or not any more.
 */
const BOTH_BEGAN = ['40P01', 'XX000', '23505', '42P07', '42704'];
/** Ends who runs a statement with this in it ($1), but for who asks. */
const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE strpos(query, $1) > 0 AND state = 'active' AND pid <> pg_backend_pid()`;
/** How long an answer may take, in times of what others may. */
const PATIENCE = 1_000_000;

export class FinishedIndex {
  private isThere = false;

  constructor(
    private readonly sql: EngineSql,
    private readonly schema: string,
  ) {}

  /**
   * Makes the index if it is missing. False while another process does.
   * @param signal ends the making, which begins anew the next time
   * @throws SagaConfigurationError when the role may not
   */
  async ensure(signal: AbortSignal): Promise<boolean> {
    if (this.isThere || (this.isThere = (await this.look()) === 'valid')) return true;
    const connection = await this.sql.connect();
    try {
      connection.timeoutFactor = PATIENCE;
      return (this.isThere = await this.build(connection, signal));
    } catch (error) {
      if ((error as { code?: unknown }).code !== '42501') throw error;
      throw new SagaConfigurationError(
        `Deleting sagas requires an index that this role may not create (${(error as Error).message}). ` +
          `Run as the owner of schema '${this.schema}': ${finishedIndexSql(this.schema, 'CONCURRENTLY')}`,
        { cause: error },
      );
    } finally {
      connection.release();
    }
  }

  private async build(connection: EngineConnection, signal: AbortSignal): Promise<boolean> {
    // Two who build at the same time would wait for each other. No lock of a session, nor its process id: behind a pooler
    // each statement may be on another one.
    const isInvalid = (await this.look()) === 'invalid';
    const building = await this.sql.query<object[]>(
      'SELECT FROM pg_stat_progress_create_index WHERE datname = current_database() AND relid = to_regclass($1)',
      [`"${this.schema}".instance`],
    );
    if (building.length > 0) return false;
    const name = `/* ${randomUUID()} */`;
    // Again and again: it finds nothing between two statements.
    let stopping: NodeJS.Timeout | undefined;
    const stop = () => {
      stopping = setInterval(() => {
        this.sql.query(TERMINATE, [name]).catch(() => undefined);
      }, STOP_EVERY);
    };
    signal.addEventListener('abort', stop, { once: true });
    // From here on it learns of it.
    if (signal.aborted) return false;
    try {
      // What is left of one that was cut off.
      if (isInvalid)
        await withoutTimeouts(
          connection,
          `DROP INDEX CONCURRENTLY IF EXISTS "${this.schema}".instance_finished ${name}`,
        );
      await withoutTimeouts(connection, `${finishedIndexSql(this.schema, 'CONCURRENTLY')} ${name}`);
    } catch (error) {
      // Another one had begun all the same.
      if (!BOTH_BEGAN.includes(String((error as { code?: unknown }).code))) throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      clearInterval(stopping);
    }
    return (await this.look()) === 'valid';
  }

  private async look(): Promise<'valid' | 'invalid' | 'missing'> {
    const rows = await this.sql.query<{ valid: boolean }[]>(
      'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
      [`"${this.schema}".instance_finished`],
    );
    if (!rows[0]) return 'missing';
    return rows[0].valid ? 'valid' : 'invalid';
  }
}

/**
 * Runs a statement that may take as long as it takes. Settings of a session are touched only where they matter: a pooler
 * shares it with others.
 */
async function withoutTimeouts(connection: EngineConnection, statement: string): Promise<void> {
  const [{ limited }] = await connection.query<[{ limited: boolean }]>(
    `SELECT current_setting('lock_timeout') <> '0' OR current_setting('statement_timeout') <> '0' AS limited`,
  );
  if (!limited) return void (await connection.query(statement));
  await disableTimeouts(connection, 'SESSION');
  try {
    await connection.query(statement);
  } finally {
    await connection.query('RESET lock_timeout; RESET statement_timeout').catch(() => undefined);
  }
}
