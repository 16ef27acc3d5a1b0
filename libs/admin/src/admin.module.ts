import { type DynamicModule, Module } from '@nestjs/common';
import { checkAsyncOptions, requiredOptions } from 'nestjs-durable-saga/internal/runtime';
import { AdminAccess } from './admin-access.js';
import {
  ConfigurableModuleClass,
  routesBeside,
  type SagaAdminModuleAsyncOptions,
  withRoutes,
} from './admin.module-definition.js';
import {
  ADMIN_OPTIONS,
  ADMIN_ROUTES,
  ROUTE_NAMES,
  type SagaAdminModuleOptions,
  type SagaAdminRoutes,
} from './admin.options.js';
import { AdminRuntime } from './admin.runtime.js';
import { DashboardFiles } from './dashboard-files.js';
import { SagaRates } from './saga-rates.js';
import { SagaViews } from './saga-views.js';

/**
 * A dashboard for operators, and the REST routes that it is made of. Import it beside SagaModule, in the processes that
 * serve HTTP. Nothing is served that is not registered, and nothing starts without guards.
 */
@Module({
  providers: [
    ...[ADMIN_OPTIONS, ADMIN_ROUTES].map((token) => requiredOptions(token, 'SagaAdminModule', 'register')),
    AdminRuntime,
    AdminAccess,
    SagaViews,
    SagaRates,
    DashboardFiles,
  ],
})
export class SagaAdminModule extends ConfigurableModuleClass {
  /** The application does not start with options that are wrong, or without `guards`. */
  static override register(options: SagaAdminModuleOptions & SagaAdminRoutes): DynamicModule {
    return withRoutes(super.register(options), options);
  }

  /** The routes' own options stand beside the factory: `registerAsync({ guards: [OpsGuard], useFactory: … })`. */
  static override registerAsync(options: SagaAdminModuleAsyncOptions): DynamicModule {
    checkAsyncOptions('SagaAdminModule.registerAsync', options, ROUTE_NAMES);
    return withRoutes(super.registerAsync(options), routesBeside(options));
  }
}
