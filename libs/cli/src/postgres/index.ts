/** PostgreSQL from npm: for `saga postgres`, and for this repository's own tests, demos and benchmarks. Not a public entry. */
export { endServer } from './local-postgres.js';
export { freePort } from './free-port.js';
export { type Launch, LocalPostgres, type Superuser } from './local-postgres.js';
export { PostgresStartError, type StartFailure } from './postgres-start-error.js';
