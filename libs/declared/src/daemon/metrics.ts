import { metrics } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { ModuleMetadata } from '@nestjs/common';
import { SagaTelemetryModule } from 'nestjs-durable-saga-telemetry';
import type { Answer } from './http/front.js';

/** What measures a daemon, and answers `/metrics`. */
export interface Metrics {
  /** The modules that measure. */
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  /** Answers a request with the text format of Prometheus. */
  readonly answer: Answer;
  stop(): Promise<void>;
}

/** Sets up OpenTelemetry's SDK in this process, with its exporter for Prometheus. SagaTelemetryModule records into it. */
export function startMetrics(): Metrics {
  const exporter = new PrometheusExporter({ preventServerStart: true, withoutTargetInfo: true });
  // The exporter may bring another copy of the SDK, whose readers are the same to a provider.
  const provider = new MeterProvider({ readers: [exporter] });
  metrics.setGlobalMeterProvider(provider);
  return {
    imports: [SagaTelemetryModule.forRoot({ traces: false })],
    answer: (request, response) => exporter.getMetricsRequestHandler(request, response),
    stop: async () => {
      metrics.disable();
      await provider.shutdown();
    },
  };
}
