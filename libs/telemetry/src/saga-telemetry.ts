import { Inject, Injectable, type OnModuleDestroy, Optional } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { metrics, trace } from '@opentelemetry/api';
import { SagaConfigurationError, SagaOperations } from 'nestjs-durable-saga';
import { checkImportedOnce, SagaLog, SagaObservers } from 'nestjs-durable-saga/internal/runtime';
import { SagaEventLog } from './saga-event-log.js';
import { SagaMeter } from './saga-meter.js';
import { SagaTracer } from './saga-tracer.js';
import { StateGauges } from './state-gauges.js';
import { TelemetryInstrument } from './telemetry-instrument.js';
import {
  MODULE_OPTIONS_TOKEN,
  type SagaTelemetryModuleOptions,
  withTelemetryDefaults,
} from './telemetry.options.js';

/** The name of the tracer and the meter, by which SDKs can exclude them. */
const SCOPE = 'nestjs-durable-saga';

/** Ties the engine of the application to OpenTelemetry's API: with no SDK set up, all of it does nothing. */
@Injectable()
export class SagaTelemetry implements OnModuleDestroy {
  private readonly gauges: StateGauges | undefined;

  constructor(
    @Inject(MODULE_OPTIONS_TOKEN) options: SagaTelemetryModuleOptions,
    @Optional() @Inject(SagaObservers) observers: SagaObservers | undefined,
    @Optional() @Inject(SagaOperations) operations: SagaOperations | undefined,
    @Inject(ModulesContainer) modules: ModulesContainer,
  ) {
    checkImportedOnce(modules, SagaTelemetry, 'SagaTelemetryModule');
    const { traces, metrics: measures, gauges, logs } = withTelemetryDefaults(options);
    if (!observers || !operations)
      throw new SagaConfigurationError(
        'SagaTelemetryModule found no SagaModule. Import SagaModule.forRoot() in the root module as well.',
      );
    const meter = metrics.getMeter(SCOPE);
    // Sagas may be started from the first hook of any provider.
    observers.measureBy(
      new TelemetryInstrument(
        traces ? new SagaTracer(trace.getTracer(SCOPE), observers.showsMessages) : undefined,
        measures ? new SagaMeter(meter) : undefined,
      ),
    );
    const log = new SagaLog('SagaTelemetryModule');
    const eventLog = new SagaEventLog(log, observers.showsMessages);
    if (logs) observers.add((event) => eventLog.write(event));
    if (gauges) this.gauges = new StateGauges(meter, () => operations.stats(), log);
    this.gauges?.start();
  }

  onModuleDestroy(): void {
    this.gauges?.stop();
  }
}
