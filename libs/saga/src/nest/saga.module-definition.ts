import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SagaModuleOptions } from './saga.options.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaModuleOptions>({ moduleName: 'Saga' })
    .setClassMethodName('forRoot')
    .build();
