import { ConfigurableModuleBuilder } from '@nestjs/common';
import type { SagaTelemetryModuleOptions } from './telemetry.options.js';

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaTelemetryModuleOptions>({ moduleName: 'SagaTelemetry' })
    .setClassMethodName('forRoot')
    // Health controllers inject SagaHealthIndicator without importing anything.
    .setExtras({}, (definition) => ({ ...definition, global: true }))
    .build();
