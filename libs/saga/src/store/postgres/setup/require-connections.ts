import { SagaConfigurationError } from '../../../errors.js';
import type { SagaDatabase } from '../connection/saga-database.js';

/** A transactional step holds one connection for as long as its method takes; its lease is renewed over another. */
const LEAST = 2;

/**
 * A process that runs sagas needs two connections. With one, a transactional step and the statements that keep its
 * lease wait for each other.
 * @throws SagaConfigurationError when the pool of the application has fewer
 */
export function requireConnections({ pool, poolSetting }: SagaDatabase): void {
  const { max } = pool.options;
  if (max >= LEAST) return;
  throw new SagaConfigurationError(
    `A process that runs sagas needs a pool of at least ${LEAST} connections, but the pool of the application has ` +
      `${max}. Set ${poolSetting} to ${LEAST} or more (pg's default is 10), or set ` +
      `SagaModule.forRoot({ worker: false }) to run no sagas in this process.`,
  );
}
