import { type DynamicModule, Module } from '@nestjs/common';
import { checkAsyncOptions } from '../nest/async-options.js';
import { SagaHealthIndicator } from './saga.health-indicator.js';
import { SagaTelemetry } from './saga-telemetry.js';
import { type ASYNC_OPTIONS_TYPE, ConfigurableModuleClass } from './telemetry.module-definition.js';
import type { SagaTelemetryModuleOptions } from './telemetry.options.js';

/**
 * Spans and metrics of sagas, through OpenTelemetry's API, to whatever SDK the process has set up; and an indicator for
 * health checks. Import it once, in the root module, beside SagaModule. SagaHealthIndicator can then be injected everywhere.
 */
@Module({ providers: [SagaTelemetry, SagaHealthIndicator], exports: [SagaHealthIndicator] })
export class SagaTelemetryModule extends ConfigurableModuleClass {
  /**
   * See SagaTelemetryModuleOptions for the defaults.
   * @throws SagaConfigurationError, when the application starts, naming everything that is wrong
   */
  static override forRoot(options: SagaTelemetryModuleOptions = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** The same, with options from a factory: `{ imports, inject, useFactory }`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkAsyncOptions('SagaTelemetryModule.forRootAsync', options);
    return super.forRootAsync(options);
  }
}
