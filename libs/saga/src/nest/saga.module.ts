import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { checkAsyncOptions } from './async-options.js';
import { SagaObservers } from '../engine/observe/saga-observers.js';
import { LifeCycleModule } from './life-cycle/application-life-cycle.js';
import { ObserverExplorer } from './discovery/observer.explorer.js';
import { SagaExplorer } from './discovery/saga.explorer.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
} from './saga.module-definition.js';
import type { SagaModuleOptions } from './saga.options.js';
import { SagaLog } from './saga-log.js';
import { requiredOptions } from './required-options.js';
import { SagaPoller } from './maintenance/saga.poller.js';
import { SagaRuntime } from './saga.runtime.js';
import { SERVICES } from './saga.services.js';

/**
 * Provides durable sagas to a Nest application. Import it once, in the root module, beside the module of the
 * database layer. SagaService, SagaOperations, SagaSchedules and SagaShards can then be injected everywhere.
 */
// Feature modules inject the services without importing anything.
@Global()
@Module({
  imports: [DiscoveryModule, LifeCycleModule],
  providers: [
    requiredOptions(MODULE_OPTIONS_TOKEN, 'SagaModule', 'forRoot'),
    SagaExplorer,
    ObserverExplorer,
    SagaPoller,
    SagaRuntime,
    ...SERVICES,
    {
      provide: SagaObservers,
      // What a codec keeps unreadable in the database is not written into the log by default.
      useFactory: (options: SagaModuleOptions | undefined) =>
        new SagaObservers(new SagaLog('SagaModule'), !options?.codec),
      inject: [MODULE_OPTIONS_TOKEN],
    },
  ],
  // The options for SagaMessagingModule, and the observers for SagaTelemetryModule.
  exports: [...SERVICES, MODULE_OPTIONS_TOKEN, SagaObservers],
})
export class SagaModule extends ConfigurableModuleClass {
  /**
   * Configures the module. All options are optional.
   * @throws SagaConfigurationError at start-up; it names all invalid options
   */
  static override forRoot(options: SagaModuleOptions = {}): DynamicModule {
    return super.forRoot(options);
  }

  /** Configures the module with options from a factory: `{ imports, inject, useFactory }`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkAsyncOptions('SagaModule.forRootAsync', options);
    return super.forRootAsync(options);
  }
}
