import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SagaConfigurationError, SagaOperations, SagaSchedules, SagaService } from 'nestjs-durable-saga';
import { type Running, SagaRuntime } from 'nestjs-durable-saga/internal/runtime';
import {
  ADMIN_OPTIONS,
  ADMIN_ROUTES,
  routesOf,
  type ResolvedAdminOptions,
  type SagaAdminModuleOptions,
  type SagaAdminRoutes,
  withAdminDefaults,
} from './admin.options.js';

/** What the admin's parts share: its options, and the application's sagas. */
@Injectable()
export class AdminRuntime implements OnModuleInit {
  readonly options: ResolvedAdminOptions;
  /** Without slashes around it, and without a global prefix. */
  readonly path: string;

  constructor(
    @Inject(ADMIN_OPTIONS) options: SagaAdminModuleOptions,
    @Inject(ADMIN_ROUTES) routes: Partial<SagaAdminRoutes>,
    @Inject(ModuleRef) private readonly moduleRef: ModuleRef,
  ) {
    this.options = withAdminDefaults(options, routes);
    this.path = routesOf(routes).path;
  }

  /** @throws SagaConfigurationError when the application has no SagaModule */
  onModuleInit(): void {
    void this.sagas;
  }

  get sagas(): SagaService {
    return this.provided(SagaService);
  }

  get operations(): SagaOperations {
    return this.provided(SagaOperations);
  }

  get schedules(): SagaSchedules {
    return this.provided(SagaSchedules);
  }

  ready(): Promise<Running> {
    return this.provided(SagaRuntime).ready();
  }

  private provided<T>(type: new (...args: never[]) => T): T {
    try {
      return this.moduleRef.get<T>(type, { strict: false });
    } catch (error) {
      throw new SagaConfigurationError(
        'SagaAdminModule found no SagaModule. Import SagaModule.forRoot() in the root module, with worker: false if this ' +
          'process is to run no sagas.',
        { cause: error },
      );
    }
  }
}
