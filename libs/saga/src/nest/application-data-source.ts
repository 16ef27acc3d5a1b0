import { DiscoveryService, type ModuleRef } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../errors.js';
import { typeOrm } from '../store/postgres/typeorm/typeorm-package.js';

type TypeOrm = ReturnType<typeof typeOrm>;

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
  const typeorm = typeOrm(module);
  const dataSource = found<DataSource>(moduleRef, tokenOf(name, typeorm));
  if (dataSource?.isInitialized) return dataSource;
  const which = `TypeORM DataSource${name === undefined ? '' : ` named '${name}'`}`;
  if (dataSource) {
    throw new SagaConfigurationError(
      `${module} found the ${which}, but it is not connected. Remove manualInitialization: true, or initialize it before the ` +
        `application starts.`,
    );
  }
  if (hasForeignDataSource(moduleRef, typeorm)) {
    throw new SagaConfigurationError(
      `${module} found the ${which} only of another copy of the package typeorm. npm ls typeorm shows both copies. ` +
        `Install the version that @nestjs/typeorm uses, so that there is one copy.`,
    );
  }
  throw new SagaConfigurationError(
    `${module} found no ${which}. ${fixOf(name, module, namesOfOthers(moduleRef, typeorm))}`,
  );
}

function fixOf(name: string | undefined, module: string, others: readonly string[]): string {
  if (others.length === 0) {
    return (
      `Import TypeOrmModule.forRoot({ type: 'postgres', url: … }) in the application's root module` +
      `${name === undefined ? '' : `, with name: '${name}'`}.`
    );
  }
  const there = `There is ${others.map((one) => (one === '' ? 'the default one' : `'${one}'`)).join(', ')}`;
  const [first] = others;
  return first === ''
    ? `${there}: remove dataSource from ${module}.forRoot(), or give the name of another DataSource.`
    : `${there}: give ${module}.forRoot({ dataSource: '${first}' }).`;
}

/** As `getDataSourceToken()` of @nestjs/typeorm, which is not imported: only the application needs it. */
function tokenOf(name: string | undefined, { DataSource }: TypeOrm): Parameters<ModuleRef['get']>[0] {
  return name === undefined || name === 'default' ? DataSource : `${name}DataSource`;
}

/** Two copies of typeorm have two classes DataSource, and tokens are classes. */
function hasForeignDataSource(moduleRef: ModuleRef, { DataSource }: TypeOrm): boolean {
  const providers = found<DiscoveryService>(moduleRef, DiscoveryService)?.getProviders() ?? [];
  return providers.some(({ token, instance }) => {
    const isOne = typeof token === 'function' && token.name === 'DataSource' && token !== DataSource;
    return isOne && typeof instance === 'object' && instance !== null && 'isInitialized' in instance;
  });
}

/** The names of the application's DataSources; of the default one, nothing. */
function namesOfOthers(moduleRef: ModuleRef, { DataSource }: TypeOrm): string[] {
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
