import type { ModuleMetadata } from '@nestjs/common';
import { SagaConfigurationError } from 'nestjs-durable-saga';
import type { EngineLog } from 'nestjs-durable-saga/internal';
import { refuse } from './http/front.js';
import type { Answer } from './http/http-platform.js';

/** What measures a daemon, and answers `/metrics`. */
export interface Metrics {
  /** The modules that measure. */
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly answer: Answer;
  stop(): Promise<void>;
}

/** Returns the metrics. If their packages are not installed, nothing is measured, and the answer names them. */
export async function startMetrics(log: EngineLog): Promise<Metrics> {
  try {
    const { prometheusMetrics } = await import('./prometheus-metrics.js');
    const prometheus = await prometheusMetrics();
    const { SagaTelemetryModule } = await import('nestjs-durable-saga-telemetry');
    return {
      imports: [SagaTelemetryModule.forRoot({ traces: false })],
      answer: (request, response) => prometheus.answer(request, response),
      stop: () => prometheus.stop(),
    };
  } catch (error) {
    if (!(error instanceof SagaConfigurationError)) throw error;
    const { message, code } = error;
    log.log(`/metrics is off. ${message}`);
    const answer: Answer = (_, response) => refuse(response, 501, code, message);
    return { imports: [], answer, stop: async () => undefined };
  }
}
