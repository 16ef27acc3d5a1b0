import {
  type Checkpoint,
  type CheckpointResult,
  type EngineSql,
  type OwnTables,
  type Sql,
  type StepTransaction,
  StepTransactions,
  type StoredSaga,
} from 'nestjs-durable-saga/internal/backend';
import { fromText, toText } from './stored-text.js';

/** A lease, and what its saga has recorded. */
export type LeasedSaga = Pick<StoredSaga, 'id' | 'epoch' | 'checkpoints'>;

/** What a saga's row in the application's database says. */
interface Commit {
  readonly epoch: number;
  readonly number: number;
  readonly checkpoint: string | null;
}

/**
 * The transactions of steps, in the application's database. Each commits the work of a method with its checkpoint, in the row of
 * its saga, and Restate is given the checkpoint afterwards. Who takes the saga from its worker raises the epoch in the row first,
 * so that no earlier transaction commits any more, and records what was committed, so that nothing is done twice or forgotten.
 */
export class StepCommits {
  private readonly sql: EngineSql;
  private readonly table: string;
  private readonly transactions: StepTransactions;

  constructor({ sql, schema }: OwnTables) {
    this.sql = sql;
    this.table = `"${schema}".step_commit`;
    this.transactions = new StepTransactions(sql, {
      schema,
      stage: async (transaction, checkpoint) => ({ result: await this.write(transaction, checkpoint) }),
      checkpointNothing: () => this.write(sql, { id: NO_SAGA, epoch: 0, number: 0 }),
    });
  }

  /** Commits what `work` did with the checkpoint that it returns. */
  async transact(
    work: (transaction: StepTransaction) => Promise<Checkpoint>,
    { id, epoch }: Pick<LeasedSaga, 'id' | 'epoch'>,
  ): Promise<CheckpointResult> {
    // Before the lease is looked at: a transaction never makes its row, so that none commits once its saga is deleted.
    await this.sql.query(
      `INSERT INTO ${this.table} (saga_id, epoch) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
      [id, epoch],
    );
    return this.transactions.run((transaction) => work({ ...transaction, commitsFirst: true }));
  }

  /** The checkpoint that has been committed since the saga was read. A commit that is in progress is waited for. */
  async unrecorded({ id, checkpoints }: LeasedSaga): Promise<Checkpoint | undefined> {
    const text = `SELECT number, checkpoint FROM ${this.table} WHERE saga_id = $1 FOR SHARE`;
    const [commit] = await this.sql.query<Omit<Commit, 'epoch'>[]>(text, [id]);
    return commit && since(checkpoints, commit);
  }

  /**
   * Lets no transaction commit any more that began below this epoch.
   * @returns the checkpoint that has been committed since the saga was read. `lost`: the epoch of this saga is a past one as well
   */
  async fence({
    id,
    epoch,
    checkpoints,
  }: LeasedSaga): Promise<{ readonly unrecorded?: Checkpoint; readonly isLost: boolean }> {
    const text =
      `INSERT INTO ${this.table} AS c (saga_id, epoch) VALUES ($1, $2) ` +
      `ON CONFLICT (saga_id) DO UPDATE SET epoch = greatest(c.epoch, excluded.epoch) RETURNING epoch, number, checkpoint`;
    const [commit] = await this.sql.query<[Commit]>(text, [id, epoch]);
    return { unrecorded: since(checkpoints, commit), isLost: commit.epoch > epoch };
  }

  /** Deletes what is kept of sagas that are about to be deleted. */
  async forget(ids: readonly string[]): Promise<void> {
    await this.sql.query(`DELETE FROM ${this.table} WHERE saga_id = ANY($1::uuid[])`, [ids]);
  }

  private async write(
    sql: Sql,
    checkpoint: Pick<Checkpoint, 'id' | 'epoch' | 'number'>,
  ): Promise<CheckpointResult> {
    const { id, epoch, number } = checkpoint;
    const { betweenStatements: idle } = this.sql.watchdog;
    // Who waits for the row does not wait for a process that is gone.
    const limit =
      idle === undefined ? 'true' : `set_config('idle_in_transaction_session_timeout', '${idle}', true)`;
    const text =
      `WITH saved AS (UPDATE ${this.table} SET epoch = $2::int, number = $3::int, checkpoint = $4::text ` +
      `WHERE saga_id = $1::uuid AND epoch <= $2::int RETURNING epoch) SELECT ${limit} AS saved FROM saved`;
    const rows = await sql.query<unknown[]>(text, [id, epoch, number, toText(checkpoint)]);
    return rows.length > 0 ? 'saved' : 'fenced';
  }
}

const NO_SAGA = '00000000-0000-0000-0000-000000000000';

function since(checkpoints: number, { number, checkpoint }: Omit<Commit, 'epoch'>): Checkpoint | undefined {
  return checkpoint !== null && number > checkpoints ? (fromText(checkpoint) as Checkpoint) : undefined;
}
