import type { MigrationInterface } from 'typeorm';
import { SagaConfigurationError } from '../../../errors/saga-errors.js';
import { DEFAULT_SCHEMA } from '../saga-entities.js';
import { schemaFlaw } from '../schema-name.js';
import { CreateMessagingTables } from './create-messaging-tables.js';
import { CreateSagaTables } from './create-saga-tables.js';

type MigrationClass = new () => MigrationInterface;

/**
 * The migrations for a schema, in order, for applications that run their own: put them into the DataSource's
 * `migrations` and give `SagaModule.forRoot({ migrate: false })`.
 * @throws SagaConfigurationError for a name that no schema of ours can have
 */
export function sagaMigrations(schema: string = DEFAULT_SCHEMA): MigrationClass[] {
  refuseOthers(schema, 'sagaMigrations');
  return [
    class extends CreateSagaTables {
      // TypeORM orders migrations by the time that ends their name.
      readonly name = 'CreateSagaTables1763700000000';
      protected readonly schema = schema;
    },
    ...messagingMigrations(schema),
  ];
}

/**
 * Those of the outbox and the inbox alone, for participants that have no sagas; `sagaMigrations()` includes them. With
 * them goes `SagaMessagingModule.forRoot({ migrate: false })`.
 * @throws SagaConfigurationError for a name that no schema of ours can have
 */
export function messagingMigrations(schema: string = DEFAULT_SCHEMA): MigrationClass[] {
  refuseOthers(schema, 'messagingMigrations');
  return [
    class extends CreateMessagingTables {
      readonly name = 'CreateMessagingTables1763700000001';
      protected readonly schema = schema;
    },
  ];
}

function refuseOthers(schema: string, what: string): void {
  const flaw = schemaFlaw(schema);
  if (flaw !== undefined) throw new SagaConfigurationError(`${what}(): ${flaw}.`);
}
