import { OptionReader } from '../definition/options/option-reader.js';
import { SagaConfigurationError } from '../errors.js';
import { textOfFlaw, textOfProblems } from '../shared/diagnostic.js';
import { serializeError } from '../engine/payload/serialize-error.js';

/** What `SagaTelemetryModule.forRoot()` takes. */
export interface SagaTelemetryModuleOptions {
  /** Spans, and the starter's trace stored with each saga; default true. */
  traces?: boolean;
  /** What this process does; default true. */
  metrics?: boolean;
  /**
   * How things stand in the database, read once for each collection of metrics; default true. Every process reports the
   * same, so one of many is enough: `false` in the others.
   */
  gauges?: boolean;
  /** Lines in the log of sagas that turn back or need a person, and of attempts that failed; default true. */
  logs?: boolean;
}

const OPTIONS = [
  'traces',
  'metrics',
  'gauges',
  'logs',
] as const satisfies (keyof SagaTelemetryModuleOptions)[];

/** @throws SagaConfigurationError naming everything that is wrong at once */
export function withTelemetryDefaults(
  options: SagaTelemetryModuleOptions,
): Required<SagaTelemetryModuleOptions> {
  const problems: string[] = [];
  const reader = new OptionReader((problem, mend) => problems.push(textOfFlaw({ problem, mend })));
  try {
    const { traces, metrics, gauges, logs } = reader.options(options, OPTIONS);
    const resolved = {
      traces: reader.flag(traces, 'traces', true),
      metrics: reader.flag(metrics, 'metrics', true),
      gauges: reader.flag(gauges, 'gauges', true),
      logs: reader.flag(logs, 'logs', true),
    };
    if (problems.length === 0) return resolved;
  } catch (error) {
    problems.push(`the options could not be read: ${serializeError(error).message}`);
  }
  throw new SagaConfigurationError(`SagaTelemetryModule.forRoot: ${textOfProblems(problems)}`);
}
