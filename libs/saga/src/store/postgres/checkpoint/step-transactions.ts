import type { Checkpoint, CheckpointResult } from '../../../engine/ports/checkpoint.js';
import type { StepTransaction } from '../../../engine/ports/saga-store.js';
import { inStepOf, reserveOf } from '../connection/step-connections.js';
import type { EngineSql } from '../connection/engine-sql.js';
import { readOnlyFailure } from '../connection/read-only-transaction.js';
import type { Sql } from '../connection/sql.js';
import { sendWithin, TransactionWatch } from '../connection/transaction-watch.js';
import { asEngineFailure, concernsStatement, isOutage } from '../connection/transient-errors.js';
import { SagaTransactionError } from '../../../errors.js';

/** A checkpoint that a transaction is about to commit. */
export interface StagedCheckpoint {
  readonly result: CheckpointResult;
  /** What is left to do once it has committed. If this fails, nothing is lost. */
  readonly afterwards?: () => Promise<void>;
}

interface StepTransactionsPorts {
  /** The schema of the sagas. */
  readonly schema: string;
  /** Stores the checkpoint in the transaction, which may be at any isolation level. */
  stage(sql: Sql, checkpoint: Checkpoint): Promise<StagedCheckpoint>;
  /** Sends a checkpoint of no saga on another connection, and fails as the checkpoint of each saga does. */
  checkpointNothing(): Promise<unknown>;
}

/** The transactions of steps. Each commits the work of a method together with the checkpoint that records it. */
export class StepTransactions {
  constructor(
    private readonly sql: EngineSql,
    private readonly ports: StepTransactionsPorts,
  ) {}

  /** Calls `work`, and commits what it did with the checkpoint that it returns. */
  run(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return reserveOf(this.sql.pool).run(() =>
      this.attempt(work).catch(async (error: unknown) => {
        throw await this.causedByMethod(await readOnlyFailure(error, (text) => this.sql.query(text)));
      }),
    );
  }

  /**
   * What the method has set applies to its transaction only: a role without privileges, for example. If a checkpoint on
   * another connection is answered as it should, the method is the reason, and the attempts of the step are limited.
   */
  private async causedByMethod(error: unknown): Promise<unknown> {
    if (!isOutage(error) || !concernsStatement(error)) return error;
    try {
      await this.ports.checkpointNothing();
    } catch {
      return error;
    }
    const { message } = error as Error;
    return new SagaTransactionError(
      `The result of the step is not stored: its transaction does not allow the checkpoint (${message}). If the method ` +
        'sets a role or a setting in its transaction, reset it before the method returns.',
      { cause: error },
    );
  }

  private async attempt(
    work: (transaction: StepTransaction) => Promise<Checkpoint>,
  ): Promise<CheckpointResult> {
    const { database, watchdog } = this.sql;
    const session = database.session();
    const { era } = watchdog.timeline;
    const client = await watchdog.connected(session.connect());
    // What the method sends is the application's, and takes as long as it takes; the rest is not.
    const answered = <T>(answer: Promise<T>) => watchdog.watch(client, answer);
    let next: StagedCheckpoint['afterwards'];
    try {
      await watchdog.admit(client, era);
      const watch = TransactionWatch.on(client);
      await answered(session.begin()).catch((error: unknown) => {
        throw asEngineFailure(error);
      });
      const { transaction } = session;
      const sql = database.join(transaction);
      const errorBehind = (error: unknown) => watch.errorBehind(error);
      const manager = database.managerOf?.(transaction);
      const checkpoint = await inStepOf(this.ports.schema, client, () =>
        work({ transaction, manager, errorBehind }),
      );
      const what = 'The work of the method through its transaction';
      if (session.flush) await sendWithin(sql, what, () => session.flush!());
      await watch.requireOpen(what, sql);
      // From here on the saga's row is locked, and nothing but our own COMMIT is to come.
      const { result, afterwards } = await answered(this.ports.stage(sql, checkpoint));
      if (result === 'saved') await answered(session.commit()).catch(asCommitFailure);
      else await answered(session.rollback()).catch(() => undefined);
      if (result === 'saved') watch.requireCommitted(what);
      if (result === 'saved') next = afterwards;
      return result;
    } catch (error) {
      await answered(session.rollback()).catch(() => undefined);
      throw error;
    } finally {
      await session.release();
      await next?.().catch(() => undefined);
    }
  }
}

/** COMMIT runs the deferred triggers of the application: what these are answered with is a failure of the step. */
function asCommitFailure(error: unknown): never {
  throw concernsStatement(error) ? error : asEngineFailure(error);
}
