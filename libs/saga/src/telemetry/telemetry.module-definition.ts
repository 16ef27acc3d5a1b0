import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SagaTelemetryModuleOptions } from './telemetry.options.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaTelemetryModuleOptions>({ moduleName: 'SagaTelemetry' })
    .setClassMethodName('forRoot')
    .build();
