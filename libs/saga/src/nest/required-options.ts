import type { FactoryProvider, Type } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { SagaConfigurationError } from '../errors.js';

/**
 * What a module has in the place of its options if it is imported by its class alone. The method that takes them
 * replaces it.
 * @param method that takes them: `forRoot`
 */
export function requiredOptions(token: string | symbol, module: string, method: string): FactoryProvider {
  return {
    provide: token,
    useFactory: () => {
      throw new SagaConfigurationError(
        `${module} is imported without options. Import ${module}.${method}() or ${module}.${method}Async() in one module, ` +
          `mostly the root module, and ${module} in no other.`,
      );
    },
  };
}

/**
 * Refuses a module that is imported several times: it would have the options of one of them.
 * @param provider that the module has
 * @throws SagaConfigurationError
 */
export function checkImportedOnce(modules: ModulesContainer, provider: Type, name: string): void {
  const times = [...modules.values()].filter(({ providers }) => providers.has(provider)).length;
  if (times > 1)
    throw new SagaConfigurationError(
      `${name} is imported ${times} times, and would have the options of one of them. Import it once, in the root module: ` +
        `what it provides can be injected everywhere.`,
    );
}
