export { restateMigrations } from './application-tables.js';
export type { MessageTransport } from './message-object.js';
export { restateEngine } from './restate-engine.js';
export type { RestateEngineOptions } from './restate-options.js';
