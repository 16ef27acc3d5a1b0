import type { MigrationInterface } from 'typeorm';
import { SagaConfigurationError } from '../../../errors/saga-errors.js';
import { DEFAULT_SCHEMA } from '../saga-entities.js';
import { schemaFlaw } from '../schema-name.js';
import { CreateSagaTables } from './create-saga-tables.js';

type MigrationClass = new () => MigrationInterface;

/**
 * The migrations for a schema, in order, for applications that run their own: put them into the DataSource's
 * `migrations` and give `SagaModule.forRoot({ migrate: false })`.
 * @throws SagaConfigurationError for a name that no schema of ours can have
 */
export function sagaMigrations(schema: string = DEFAULT_SCHEMA): MigrationClass[] {
  const flaw = schemaFlaw(schema);
  if (flaw !== undefined) throw new SagaConfigurationError(`sagaMigrations(): ${flaw}.`);
  return [
    class extends CreateSagaTables {
      // TypeORM orders migrations by the time that ends their name.
      readonly name = 'CreateSagaTables1763700000000';
      protected readonly schema = schema;
    },
  ];
}
