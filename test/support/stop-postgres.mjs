/** Jest's globalTeardown; the run's own server is stopped and its data removed. */
export { stopPostgres as default } from './start-postgres.mjs';
