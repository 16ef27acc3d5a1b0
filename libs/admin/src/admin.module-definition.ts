import { ConfigurableModuleBuilder, type DynamicModule } from '@nestjs/common';
import { adminControllers } from './admin-controllers.js';
import {
  ADMIN_OPTIONS,
  ADMIN_ROUTES,
  ROUTE_NAMES,
  routesOf,
  type SagaAdminModuleOptions,
  type SagaAdminRoutes,
} from './admin.options.js';

const built = new ConfigurableModuleBuilder<SagaAdminModuleOptions>({
  moduleName: 'SagaAdmin',
  optionsInjectionToken: ADMIN_OPTIONS,
}).build();

type AsyncOptions = typeof built.ASYNC_OPTIONS_TYPE & SagaAdminRoutes;

/** The options as the builder makes them, and beside them those of the routes. */
export const ConfigurableModuleClass = built.ConfigurableModuleClass as unknown as {
  new (): object;
  register(options: SagaAdminModuleOptions & SagaAdminRoutes): DynamicModule;
  registerAsync(options: AsyncOptions): DynamicModule;
};

/** What `SagaAdminModule.registerAsync()` takes: a factory of the options, and beside it the routes. */
export type SagaAdminModuleAsyncOptions = AsyncOptions;

/** The module with its routes. @param given the object that has their options */
export function withRoutes(definition: DynamicModule, given: Partial<SagaAdminRoutes>): DynamicModule {
  const { path, guards, dashboard, imports } = routesOf(given);
  return {
    ...definition,
    imports,
    controllers: adminControllers(path, guards, dashboard),
    providers: [...(definition.providers ?? []), { provide: ADMIN_ROUTES, useValue: given }],
  };
}

/** The options of the routes that stand beside a factory. */
export function routesBeside(options: AsyncOptions): Partial<SagaAdminRoutes> {
  return Object.fromEntries(ROUTE_NAMES.map((name) => [name, options[name]]));
}
