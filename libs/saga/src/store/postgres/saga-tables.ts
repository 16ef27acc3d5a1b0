import { InstanceStatements, type SagaInstances } from './instance-statements.js';
import type { SchemaStatements } from './schema-statements.js';
import { type SagaSteps, StepStatements } from './step-statements.js';

/** The tables that a store changes with every saga. */
export interface SagaTables {
  readonly instances: SagaInstances;
  readonly steps: SagaSteps;
}

/** A database layer that stores sagas by repositories of its own, which send the same statements. */
interface RepositoryLayer {
  repositories(tables: SagaTables): SagaTables;
}

/** The tables of a schema: the repositories of the database layer, if it has some. */
export function sagaTables(on: SchemaStatements): SagaTables {
  const tables = { instances: new InstanceStatements(on), steps: new StepStatements(on) };
  const layer = on.sql.database as Partial<RepositoryLayer>;
  return layer.repositories?.(tables) ?? tables;
}
