import type { Durability } from '../../definition/options/saga-options.js';
import type { Checkpoint, CheckpointResult } from '../../engine/ports/checkpoint.js';
import type { StepTransaction } from '../../engine/ports/saga-store.js';
import type { StoredTask, StoreTaskFilter } from '../../engine/ports/stored-task.js';
import { type StagedCheckpoint, StepTransactions } from './checkpoint/step-transactions.js';
import type { Sql } from './connection/sql.js';
import { findTasks } from './read/find-tasks.js';
import type { SchemaStatements } from './schema-statements.js';

/** What a store does with the records of steps: in the table `step`, and with them in the rows of their sagas. */
export class StepStatements {
  private readonly transactions: StepTransactions;

  constructor(private readonly on: SchemaStatements) {
    this.transactions = new StepTransactions(on.sql, {
      schema: on.schema,
      stage: (sql, checkpoint) => this.stage(sql, checkpoint),
      checkpointNothing: () => on.calls.prepare(),
    });
  }

  checkpoint(checkpoints: readonly Checkpoint[], durability?: Durability): Promise<CheckpointResult[]> {
    return this.on.checkpoints.save(checkpoints, durability);
  }

  transact(work: (transaction: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    return this.transactions.run(work);
  }

  tasks(filter: StoreTaskFilter): Promise<StoredTask[]> {
    return this.on.searching((sql) => findTasks(sql, this.on.schema, filter));
  }

  /** At an isolation level where the saga's lock cannot be handed on, the saga stays in its queue and is due: see lock-queue.sql. */
  private async stage(sql: Sql, checkpoint: Checkpoint): Promise<StagedCheckpoint> {
    const { checkpoints, texts, claims } = this.on;
    const idleTimeout = this.on.sql.watchdog.betweenStatements;
    const [result] = await checkpoints.saveOn(sql, [checkpoint], { idleTimeout });
    if (result !== 'raised') return { result: result! };
    const [stored] = await checkpoints.saveOn(sql, [{ ...checkpoint, lock: undefined }], { idleTimeout });
    if (stored === 'saved') {
      await sql.query(...texts.stayQueued({ id: checkpoint.id }));
      await this.on.notify(sql, 'due');
    }
    // If this fails, the worker that claims the saga does it.
    return { result: stored as CheckpointResult, afterwards: () => claims.dequeue(checkpoint) };
  }
}

/** The steps of a schema as a store uses them. */
export type SagaSteps = Pick<StepStatements, keyof StepStatements>;
