export { DatabaseServer } from './database-server.js';
export { DemoProcess } from './demo-process.js';
export { freePort } from '../../cli/dist/postgres/index.js';
export { HttpClient, HttpError, type Json } from './http-client.js';
export { HttpModule } from './http.module.js';
export { endWithParent, LOG_LEVELS, type Ready, sayReady } from './parent.js';
export { printTimeline } from './print-timeline.js';
export { type SagaTimeline, toTimeline } from './saga-timeline.js';
export { type Colour, euros, narrate, paint, short, title } from './terminal.js';
export { RequestBalancer } from './restate/request-balancer.js';
export {
  type KilledServer,
  RestateCluster,
  restateProgram,
  RestateServer,
} from './restate/restate-server.js';
export { ThrowawayDatabase } from './throwaway-database.js';
export { until } from './until.js';
export { type DemoStage, runDemo } from './run-demo.js';
