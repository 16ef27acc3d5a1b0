import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SagaMessagingModuleOptions } from './messaging.options.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaMessagingModuleOptions>({ moduleName: 'SagaMessaging' })
    .setClassMethodName('forRoot')
    .build();
