import type { ModuleRef } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../errors/saga-errors.js';

/**
 * The application's DataSource of this name, or its default one.
 * @param module who asks
 * @throws SagaConfigurationError when there is none
 */
export function applicationDataSource(
  moduleRef: ModuleRef,
  name: string | undefined,
  module: string,
): DataSource {
  let dataSource: DataSource | undefined;
  try {
    dataSource = moduleRef.get<DataSource>(getDataSourceToken(name), { strict: false });
  } catch {
    // Reported below.
  }
  if (dataSource?.isInitialized) return dataSource;
  throw new SagaConfigurationError(
    `${module} found no TypeORM DataSource${name === undefined ? '' : ` named '${name}'`}. Import ` +
      `TypeOrmModule.forRoot({ type: 'postgres', url: … }) in the application's root module` +
      `${name === undefined ? '' : `, with name: '${name}'`}.`,
  );
}
