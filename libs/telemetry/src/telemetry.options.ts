import { ConfigurableModuleBuilder } from '@nestjs/common';
import { type OptionTable, kind, withDefault } from 'nestjs-durable-saga/internal';
import { readModuleOptions } from 'nestjs-durable-saga/internal/runtime';

/** Options of `SagaTelemetryModule.forRoot()`. */
export interface SagaTelemetryModuleOptions {
  /** Whether to create spans, and to store the starter's trace with each saga. Default: true. */
  traces?: boolean;
  /** Whether to record metrics of this process. Default: true. */
  metrics?: boolean;
  /**
   * Whether to report gauges of the database, which is read once per collection of metrics. All processes report the
   * same values, so set `false` in all but one. Default: true.
   */
  gauges?: boolean;
  /** Whether to log sagas that compensate or need attention, and failed attempts. Default: true. */
  logs?: boolean;
}

const OPTIONS = {
  traces: withDefault(kind.flag, true),
  metrics: withDefault(kind.flag, true),
  gauges: withDefault(kind.flag, true),
  logs: withDefault(kind.flag, true),
} satisfies OptionTable<SagaTelemetryModuleOptions>;

/** Returns the options with defaults. @throws SagaConfigurationError that names all invalid options */
export function withTelemetryDefaults(
  options: SagaTelemetryModuleOptions,
): Required<SagaTelemetryModuleOptions> {
  return readModuleOptions('SagaTelemetryModule', OPTIONS, options, (read) => read);
}

export const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, OPTIONS_TYPE, ASYNC_OPTIONS_TYPE } =
  new ConfigurableModuleBuilder<SagaTelemetryModuleOptions>({ moduleName: 'SagaTelemetry' })
    .setClassMethodName('forRoot')
    .build();
