import type { IncomingMessage, ServerResponse } from 'node:http';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import { ifInstalled } from 'nestjs-durable-saga/internal';

/** The metrics of this process, as Prometheus reads them. */
export interface PrometheusMetrics {
  /** Answers a request with the text format. */
  answer(request: IncomingMessage, response: ServerResponse): void;
  stop(): Promise<void>;
}

const PACKAGES = ['@opentelemetry/api', '@opentelemetry/sdk-metrics', '@opentelemetry/exporter-prometheus'];

/**
 * Sets up OpenTelemetry's SDK in this process, with its exporter for Prometheus. SagaTelemetryModule records into it.
 * @throws SagaConfigurationError that names the packages to install
 */
export async function prometheusMetrics(): Promise<PrometheusMetrics> {
  const [api, sdk, prometheus] = await Promise.all([
    import('@opentelemetry/api').catch(ifInstalled),
    import('@opentelemetry/sdk-metrics').catch(ifInstalled),
    import('@opentelemetry/exporter-prometheus').catch(ifInstalled),
  ]);
  if (!api || !sdk || !prometheus) {
    const missing = PACKAGES.filter((_, n) => ![api, sdk, prometheus][n]);
    throw new SagaConfigurationError(
      `Metrics require ${PACKAGES.join(', ')}; not installed: ${missing.join(', ')}. ` +
        `Run npm install ${missing.join(' ')}.`,
    );
  }
  const exporter = new prometheus.PrometheusExporter({ preventServerStart: true, withoutTargetInfo: true });
  // The exporter may bring another copy of the SDK, whose readers are the same to a provider.
  const provider = new sdk.MeterProvider({ readers: [exporter] });
  api.metrics.setGlobalMeterProvider(provider);
  return {
    answer: (request, response) => exporter.getMetricsRequestHandler(request, response),
    stop: async () => {
      api.metrics.disable();
      await provider.shutdown();
    },
  };
}
