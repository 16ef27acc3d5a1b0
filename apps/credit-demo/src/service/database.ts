import type { DynamicModule, Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { MigrationInterface } from 'typeorm';
import { CreateHopTable } from './create-hop-table.js';
import { readEnvironment } from './environment.js';
import { Hop } from './hop.entity.js';

/** A service's own database, which no other service ever sees. */
export function databaseOf(
  service: string,
  entities: readonly Type[],
  migrations: readonly Type<MigrationInterface>[],
): DynamicModule {
  return TypeOrmModule.forRootAsync({
    useFactory: () => ({
      type: 'postgres',
      url: readEnvironment().databaseUrl,
      applicationName: `credit-demo ${service}`,
      entities: [Hop, ...entities],
      migrations: [CreateHopTable, ...migrations],
      migrationsRun: true,
      retryAttempts: 3,
    }),
  });
}
