import { ConfigurableModuleBuilder, type DynamicModule } from '@nestjs/common';
import { adminControllers } from './admin-controllers.js';
import {
  ADMIN_OPTIONS,
  ADMIN_ROUTES,
  guardsOf,
  pathOf,
  type SagaAdminModuleOptions,
  type SagaAdminRoutes,
} from './admin.options.js';

/** All options of routes. Nest takes any other for an option of the module. */
export const ROUTES: { readonly [K in keyof Required<SagaAdminRoutes>]: SagaAdminRoutes[K] | undefined } = {
  path: undefined,
  guards: undefined,
  dashboard: true,
  imports: undefined,
};

const built = new ConfigurableModuleBuilder<SagaAdminModuleOptions>({
  moduleName: 'SagaAdmin',
  optionsInjectionToken: ADMIN_OPTIONS,
})
  .setExtras(ROUTES, (definition, { path, guards, dashboard, imports }) => {
    const routes: Partial<SagaAdminRoutes> = { path, guards, dashboard };
    return {
      ...definition,
      imports: [...new Set([...(definition.imports ?? []), ...(imports ?? [])])],
      controllers: adminControllers(pathOf(routes), guardsOf(routes), dashboard !== false),
      providers: [...(definition.providers ?? []), { provide: ADMIN_ROUTES, useValue: routes }],
    };
  })
  .build();

type AsyncOptions = typeof built.ASYNC_OPTIONS_TYPE & SagaAdminRoutes;

/** The options as the builder makes them, except that `guards` is required. */
export const ConfigurableModuleClass = built.ConfigurableModuleClass as unknown as {
  new (): object;
  register(options: SagaAdminModuleOptions & SagaAdminRoutes): DynamicModule;
  registerAsync(options: AsyncOptions): DynamicModule;
};

/** What `SagaAdminModule.registerAsync()` takes: a factory of the options, and beside it the routes. */
export type SagaAdminModuleAsyncOptions = AsyncOptions;
