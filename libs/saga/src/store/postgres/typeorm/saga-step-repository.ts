import type { DataSource } from 'typeorm';
import { SagaStep } from '../schema/saga-row.js';
import type { SagaSteps } from '../step-statements.js';

type Arguments<Name extends keyof SagaSteps> = Parameters<SagaSteps[Name]>;

/** Returns the repository in which TypeORM's layer stores the records of steps: see sagaInstanceRepository(). */
export function sagaStepRepository(application: DataSource, steps: SagaSteps) {
  return application.getRepository(SagaStep).extend({
    /** Stores what has happened to the steps of sagas, and where these sagas stand now. */
    checkpoint(...call: Arguments<'checkpoint'>) {
      return steps.checkpoint(...call);
    },
    /** Commits the work of a transactional step together with its checkpoint, in a transaction of the DataSource. */
    transact(...call: Arguments<'transact'>) {
      return steps.transact(...call);
    },
    /** Returns the steps that wait for an operator's decision. */
    tasks(...call: Arguments<'tasks'>) {
      return steps.tasks(...call);
    },
  });
}

/** TypeORM's repository of the records of steps. */
export type SagaStepRepository = ReturnType<typeof sagaStepRepository>;
