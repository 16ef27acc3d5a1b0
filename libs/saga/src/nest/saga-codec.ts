import type { FactoryProvider } from '@nestjs/common';
import type { PayloadCodec } from '../store/coded/payload-codec.js';
import { MODULE_OPTIONS_TOKEN } from './saga.module-definition.js';
import type { SagaModuleOptions } from './saga.options.js';

/** SagaModule's codec, or null: for the outbox of SagaMessagingModule, to which its sagas publish. */
export const SAGA_CODEC = Symbol('SAGA_CODEC');

export const sagaCodecProvider: FactoryProvider<PayloadCodec | null> = {
  provide: SAGA_CODEC,
  inject: [MODULE_OPTIONS_TOKEN],
  useFactory: (options: SagaModuleOptions | undefined) => options?.codec ?? null,
};
