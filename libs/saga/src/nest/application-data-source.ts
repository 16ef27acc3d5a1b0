import { DiscoveryService, type ModuleRef } from '@nestjs/core';
import { getDataSourceToken } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../errors/saga-errors.js';

/**
 * The application's DataSource of this name, or its default one.
 * @param module who asks
 * @throws SagaConfigurationError when there is none, naming those that there are, or when it is not connected
 */
export function applicationDataSource(
  moduleRef: ModuleRef,
  name: string | undefined,
  module: string,
): DataSource {
  const dataSource = found<DataSource>(moduleRef, getDataSourceToken(name));
  if (dataSource?.isInitialized) return dataSource;
  const which = `TypeORM DataSource${name === undefined ? '' : ` named '${name}'`}`;
  if (dataSource) {
    throw new SagaConfigurationError(
      `${module} found the ${which} not connected. Leave out manualInitialization: true, or initialize it before the ` +
        `application starts.`,
    );
  }
  throw new SagaConfigurationError(
    `${module} found no ${which}. ${mendOf(name, module, namesOfOthers(moduleRef))}`,
  );
}

function mendOf(name: string | undefined, module: string, others: readonly string[]): string {
  if (others.length === 0) {
    return (
      `Import TypeOrmModule.forRoot({ type: 'postgres', url: … }) in the application's root module` +
      `${name === undefined ? '' : `, with name: '${name}'`}.`
    );
  }
  const there = `There is ${others.map((one) => (one === '' ? 'the default one' : `'${one}'`)).join(', ')}`;
  const [first] = others;
  return first === ''
    ? `${there}: leave out dataSource in ${module}.forRoot(), or give the name of another.`
    : `${there}: give ${module}.forRoot({ dataSource: '${first}' }).`;
}

/** The names of the application's DataSources; of the default one, nothing. */
function namesOfOthers(moduleRef: ModuleRef): string[] {
  const providers = found<DiscoveryService>(moduleRef, DiscoveryService)?.getProviders() ?? [];
  const tokens = providers
    .filter(({ instance }) => instance instanceof DataSource)
    .map(({ token }) => (typeof token === 'string' ? token.replace(/DataSource$/, '') : ''));
  return [...new Set(tokens)];
}

function found<T>(moduleRef: ModuleRef, token: Parameters<ModuleRef['get']>[0]): T | undefined {
  try {
    return moduleRef.get<unknown, T>(token, { strict: false });
  } catch {
    return undefined;
  }
}
