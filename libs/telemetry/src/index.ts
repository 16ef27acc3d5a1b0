export { SagaTelemetryModule } from './telemetry.module.js';
export type { SagaTelemetryModuleOptions } from './telemetry.options.js';
export { type SagaHealth, SagaHealthIndicator, type SagaHealthOptions } from './saga.health-indicator.js';
