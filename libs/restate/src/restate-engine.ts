import type { ExternalEngine, OwnEngine } from 'nestjs-durable-saga/internal/backend';
import { NEEDS } from './application-tables.js';
import { openRestate } from './restate-backend.js';
import { type RestateEngineOptions, readRestateOptions } from './restate-options.js';

/**
 * Keeps sagas in Restate instead of PostgreSQL: `SagaModule.forRoot({ engine: restateEngine({ … }) })`.
 * @throws SagaValidationError that names all invalid options
 * @throws SagaConfigurationError at start-up if a saga has what Restate cannot keep, or on Node 20
 * @throws SagaUnavailableError at start-up if Restate cannot be reached within 30 s
 */
export function restateEngine(options: RestateEngineOptions): ExternalEngine {
  const read = readRestateOptions(options);
  const engine: OwnEngine = {
    name: 'Restate',
    refuses: ({ durability }) => (durability === 'relaxed' ? ["durability: 'relaxed'"] : []),
    needs: NEEDS,
    open: (process) => openRestate(read, process),
  };
  return engine;
}
