import type { Durability } from '../../definition/options/saga-options.js';
import type { Checkpoint, CheckpointResult } from '../../engine/ports/checkpoint.js';
import type { StepTransaction } from '../../engine/ports/saga-store.js';
import type { StoredTask, StoreTaskFilter } from '../../engine/ports/stored-task.js';
import { StepTransactions } from './checkpoint/step-transactions.js';
import { findTasks } from './read/find-tasks.js';
import type { SchemaStatements } from './schema-statements.js';

/** What a store does with the records of steps: in the table `step`, and with them in the rows of their sagas. */
export class StepStatements {
  private readonly transactions: StepTransactions;

  constructor(private readonly on: SchemaStatements) {
    this.transactions = new StepTransactions(on.sql, on.checkpoints, on.texts, {
      schema: on.schema,
      notify: (sql) => on.notify(sql, 'due'),
      dequeue: (checkpoint) => on.claims.dequeue(checkpoint),
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
}

/** The steps of a schema as a store uses them. */
export type SagaSteps = Pick<StepStatements, keyof StepStatements>;
