import type { Type } from '@nestjs/common';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { SagaConfigurationError } from '../../errors.js';
import { ifInstalled } from '../../shared/if-installed.js';
import type { FindMethod } from './providers.js';

/** What discovery uses of the package of declared sagas. That package depends on this one, which loads it by its name. */
interface DeclaredPackage {
  readonly readSagas: (
    files: readonly string[],
    options: { readonly sagas: readonly Type[]; readonly findMethod: FindMethod },
  ) => Promise<Type[]>;
}

const NAME: string = 'nestjs-durable-saga-declared';

/** @throws SagaConfigurationError if the package is not installed */
export async function declaredPackage(): Promise<DeclaredPackage> {
  const found = await load(NAME);
  if (found) return found;
  // Package managers that keep dependencies apart show it to the application only, which installed it.
  const path = fromApplication();
  const own = path === undefined ? undefined : await load(pathToFileURL(path).href);
  if (own) return own;
  throw new SagaConfigurationError(
    `SagaModule.forRoot({ declared }) requires the package ${NAME}. Run npm install ${NAME}.`,
  );
}

async function load(name: string): Promise<DeclaredPackage | undefined> {
  return (await import(name).catch(ifInstalled)) as DeclaredPackage | undefined;
}

function fromApplication(): string | undefined {
  try {
    return createRequire(join(process.cwd(), 'package.json')).resolve(NAME);
  } catch {
    return undefined;
  }
}
