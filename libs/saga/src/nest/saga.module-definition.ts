import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SagaModuleOptions } from './saga.options.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaModuleOptions>({ moduleName: 'Saga' })
    .setClassMethodName('forRoot')
    // Feature modules inject SagaService without importing anything.
    .setExtras({}, (definition) => ({ ...definition, global: true }))
    .build();
