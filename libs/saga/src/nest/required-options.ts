import type { FactoryProvider } from '@nestjs/common';
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
