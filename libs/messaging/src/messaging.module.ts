import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import {
  LifeCycleModule,
  SagaPoller,
  checkAsyncOptions,
  requiredOptions,
} from 'nestjs-durable-saga/internal/runtime';
import { HandlerCheck } from './handling/check-handlers.js';
import { DeadLetters } from './handling/dead-letters.js';
import { Inbox } from './inbox.js';
import {
  type ASYNC_OPTIONS_TYPE,
  ConfigurableModuleClass,
  MODULE_OPTIONS_TOKEN,
  type SagaMessagingModuleOptions,
} from './messaging.options.js';
import { MessagingRuntime } from './messaging.runtime.js';
import { Outbox } from './outbox.js';

/**
 * Provides the outbox with its relay, and the inbox. Import it once, in the root module, beside the module of the
 * database layer: with SagaModule, whose sagas publish by `ctx.publish`, or without it, in services that take part in sagas of other
 * applications. Outbox and Inbox can then be injected everywhere.
 */
// Feature modules inject Outbox and Inbox without importing anything.
@Global()
@Module({
  imports: [DiscoveryModule, LifeCycleModule],
  providers: [
    requiredOptions(MODULE_OPTIONS_TOKEN, 'SagaMessagingModule', 'forRoot'),
    HandlerCheck,
    MessagingRuntime,
    SagaPoller,
    Outbox,
    Inbox,
    DeadLetters,
  ],
  exports: [Outbox, Inbox],
})
export class SagaMessagingModule extends ConfigurableModuleClass {
  /**
   * Configures the module. SagaMessagingModuleOptions lists the defaults.
   * @throws SagaConfigurationError at start-up; it names all invalid options
   */
  static override forRoot(options: SagaMessagingModuleOptions): DynamicModule {
    return super.forRoot(options);
  }

  /** Configures the module with options from a factory: `{ imports, inject, useFactory }`. */
  static override forRootAsync(options: typeof ASYNC_OPTIONS_TYPE): DynamicModule {
    checkAsyncOptions('SagaMessagingModule.forRootAsync', options);
    return super.forRootAsync(options);
  }
}
