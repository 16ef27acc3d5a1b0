import type { DataSource } from 'typeorm';
import { SagaConfigurationError } from '../../../errors.js';
import { poolOf } from '../connection/saga-data-source.js';

/** A transactional step holds one connection for as long as its method takes; its lease is renewed over another. */
const LEAST = 2;

/**
 * A process that runs sagas needs two connections. With one, a transactional step and the statements that keep its
 * lease wait for each other.
 * @throws SagaConfigurationError when the pool of the application's DataSource has fewer
 */
export function requireConnections(application: DataSource): void {
  const { max } = poolOf(application).options;
  if (max >= LEAST) return;
  throw new SagaConfigurationError(
    `A process that runs sagas needs a pool of at least ${LEAST} connections, but the pool of the ` +
      `application's DataSource has ${max}. Set poolSize of TypeOrmModule.forRoot() to ${LEAST} or more (pg's default ` +
      `is 10), or set SagaModule.forRoot({ worker: false }) to run no sagas in this process.`,
  );
}
