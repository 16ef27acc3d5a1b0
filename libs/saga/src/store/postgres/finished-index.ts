import type { DataSource, QueryRunner } from 'typeorm';
import { SagaConfigurationError } from '../../errors/saga-errors.js';
import { beMorePatient } from './saga-data-source.js';
import { waitAsLongAsItTakes } from './migrate.js';

/** "gidx" in ASCII; the second key of the lock is the schema's. */
const BUILD_LOCK = 0x67696478;
/** How long an answer may take, in times of what others may. */
const PATIENCE = 1_000_000;

/**
 * For deletion by age, oldest first, of each name: those that have ended, without those that others started. It costs a
 * saga of three empty steps 4 % of the server's CPU and of the log, when it ends, so it is there only where something is
 * deleted: whoever first deletes makes it, and holds up nobody by that (CONCURRENTLY). To walk the primary key by the time
 * in its ids would cost nothing, but reads whatever is kept there (long-running ones, names with a longer retention) again
 * each time, and misses ids that users gave; BRIN degenerates once deleted rows' places are used again.
 */
export const finishedIndexSql = (schema: string, how: '' | 'CONCURRENTLY'): string =>
  `CREATE INDEX ${how} IF NOT EXISTS instance_finished ON "${schema}".instance (name, finished_at) ` +
  'WHERE finished_at IS NOT NULL AND parent_id IS NULL';

export class FinishedIndex {
  private isThere = false;

  constructor(
    private readonly dataSource: DataSource,
    private readonly schema: string,
  ) {}

  /**
   * Makes it where it is missing; false while another process does.
   * @param signal ends the making, which is begun anew the next time
   * @throws SagaConfigurationError when the role may not
   */
  async ensure(signal: AbortSignal): Promise<boolean> {
    if (this.isThere || (this.isThere = (await this.look()) === 'valid')) return true;
    const runner = this.dataSource.createQueryRunner();
    try {
      beMorePatient(await runner.connect(), PATIENCE);
      return (this.isThere = await this.build(runner, signal));
    } catch (error) {
      if ((error as { code?: unknown }).code !== '42501') throw error;
      throw new SagaConfigurationError(
        `Deleting sagas needs an index that this role may not create (${(error as Error).message}). ` +
          `Let the owner of schema '${this.schema}' run: ${finishedIndexSql(this.schema, 'CONCURRENTLY')}`,
        { cause: error },
      );
    } finally {
      await runner.release();
    }
  }

  private async build(runner: QueryRunner, signal: AbortSignal): Promise<boolean> {
    // Two who build at the same time would wait for each other.
    const lock = `(${BUILD_LOCK}, hashtext($1))`;
    const [asked] = (await runner.query(
      `SELECT pg_try_advisory_lock${lock} AS locked, pg_backend_pid() AS pid`,
      [this.schema],
    )) as { locked: boolean; pid: number }[];
    const { locked, pid } = asked!;
    if (!locked) return false;
    // A cancellation would be lost between two statements, and could hit the next user of the connection.
    const cancel = () =>
      void this.dataSource.query('SELECT pg_terminate_backend($1)', [pid]).catch(() => undefined);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (signal.aborted) return false;
      await waitAsLongAsItTakes(runner, 'SESSION');
      // What is left of one that was cut off.
      if ((await this.look()) === 'invalid')
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS "${this.schema}".instance_finished`);
      await runner.query(finishedIndexSql(this.schema, 'CONCURRENTLY'));
      return true;
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!signal.aborted) {
        await runner.query('RESET lock_timeout; RESET statement_timeout');
        await runner.query(`SELECT pg_advisory_unlock${lock}`, [this.schema]);
      }
    }
  }

  private async look(): Promise<'valid' | 'invalid' | 'missing'> {
    const rows = await this.dataSource.query<{ valid: boolean }[]>(
      'SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)',
      [`"${this.schema}".instance_finished`],
    );
    if (!rows[0]) return 'missing';
    return rows[0].valid ? 'valid' : 'invalid';
  }
}
