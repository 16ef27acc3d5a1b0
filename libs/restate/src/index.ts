export type { MessageTransport } from './message-object.js';
export { restateEngine, type RestateEngineOptions } from './restate-engine.js';
