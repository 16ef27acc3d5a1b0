import type * as engine from './operators-engine.js';

/**
 * Runs `work` on the sagas of a database. The engine is loaded here and not before, because help and `saga init` run
 * where its packages (TypeORM, `@nestjs/common`) are not installed.
 */
export const operating: typeof engine.operating = async (...call) =>
  (await import('./operators-engine.js')).operating(...call);

/** Runs `work` on the database of the saga tables. The engine is loaded here, as for `operating`. */
export const onDatabase: typeof engine.onDatabase = async (...call) =>
  (await import('./operators-engine.js')).onDatabase(...call);
