export { restateEngine, type RestateEngineOptions } from './restate-engine.js';
