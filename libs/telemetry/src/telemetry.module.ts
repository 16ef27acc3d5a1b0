import { type DynamicModule, Global, Module } from '@nestjs/common';
import { checkAsyncOptions, requiredOptions } from 'nestjs-durable-saga/internal/runtime';
import { SagaHealthIndicator } from './saga.health-indicator.js';
import { SagaTelemetry } from './saga-telemetry.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type SagaTelemetryModuleOptions,
} from './telemetry.options.js';

/**
 * Provides OpenTelemetry spans and metrics of sagas, for the SDK that the process has set up, and a health indicator.
 * Import it once, in the root module, beside SagaModule. SagaHealthIndicator can then be injected everywhere.
 */
// Health controllers inject SagaHealthIndicator without importing anything.
@Global()
@Module({
  providers: [
    requiredOptions(MODULE_OPTIONS_TOKEN, 'SagaTelemetryModule', 'forRoot'),
    SagaTelemetry,
    SagaHealthIndicator,
  ],
  exports: [SagaHealthIndicator],
})
export class SagaTelemetryModule extends ConfigurableModuleClass {
  /**
   * Configures the module. SagaTelemetryModuleOptions lists the defaults.
   * @throws SagaConfigurationError at start-up; it names all invalid options
   */
  static override forRoot(options: SagaTelemetryModuleOptions = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** Configures the module with options from a factory: `{ imports, inject, useFactory }`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkAsyncOptions('SagaTelemetryModule.forRootAsync', options);
    return super.forRootAsync(options);
  }
}
