import { OptionReader } from '../definition/options/option-reader.js';
import { SagaConfigurationError } from '../errors.js';
import { textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import { serializeError } from '../engine/payload/serialize-error.js';

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

const OPTIONS = [
  'traces',
  'metrics',
  'gauges',
  'logs',
] as const satisfies (keyof SagaTelemetryModuleOptions)[];

/** Returns the options with defaults. @throws SagaConfigurationError that names all invalid options */
export function withTelemetryDefaults(
  options: SagaTelemetryModuleOptions,
): Required<SagaTelemetryModuleOptions> {
  const problems: string[] = [];
  const reader = new OptionReader((problem, fix) => problems.push(textOfDiagnostic({ problem, fix })));
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
