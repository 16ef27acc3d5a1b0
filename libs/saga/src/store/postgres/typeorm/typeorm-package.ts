import type * as typeorm from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import { requireVersions } from '../connection/layer-versions.js';
import { loadTypeOrm } from './load-typeorm.cjs';

export type TypeOrm = typeof typeorm;

let loaded: TypeOrm | undefined;

/**
 * The package typeorm, which applications on other database layers do not install. It is loaded at the first use.
 * @param what needs it, as the beginning of a sentence
 * @throws SagaConfigurationError if it is not installed, or in a version that is too low
 */
export function typeOrm(what: string): TypeOrm {
  if (loaded) return loaded;
  requireVersions(what, ['typeorm', 'pg']);
  try {
    return (loaded = loadTypeOrm() as TypeOrm);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'MODULE_NOT_FOUND') throw error;
    throw new SagaConfigurationError(
      `${what} requires the package typeorm, which is not installed. Run npm install typeorm @nestjs/typeorm, or give ` +
        `forRoot({ database }) the database of your application's database layer, such as pgDatabase(pool) of ` +
        `nestjs-durable-saga/pg.`,
      { cause: error },
    );
  }
}
