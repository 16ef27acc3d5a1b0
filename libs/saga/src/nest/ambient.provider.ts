import type { FactoryProvider } from '@nestjs/common';
import type { SagaAmbient } from './ambient.js';
import { MODULE_OPTIONS_TOKEN } from './saga.module-definition.js';

/** SagaModule's option `ambient`, or null: for SagaMessagingModule. */
export const SAGA_AMBIENT = Symbol('SAGA_AMBIENT');

export const sagaAmbientProvider: FactoryProvider<SagaAmbient | null> = {
  provide: SAGA_AMBIENT,
  inject: [MODULE_OPTIONS_TOKEN],
  useFactory: (options: { readonly ambient?: SagaAmbient } | undefined) => options?.ambient ?? null,
};
