import { type Attributes, metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  type Histogram,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';

interface Point {
  readonly attributes: Attributes;
  /** A number, or of a histogram its summary. */
  readonly value: unknown;
}

/**
 * OpenTelemetry as an application sets it up, with an exporter that keeps what it is given. Each test sees
 * its own only.
 */
export class CollectedMetrics {
  private exporter!: InMemoryMetricExporter;
  private reader!: PeriodicExportingMetricReader;

  /** To be called at the top of a file. */
  static ofThisFile(): CollectedMetrics {
    const collected = new CollectedMetrics();
    beforeEach(() => collected.setUp());
    afterEach(() => collected.shutDown());
    return collected;
  }

  /** What is exported when the time comes, by the names of the metrics. */
  async collect(): Promise<Map<string, MetricData>> {
    this.exporter.reset();
    await this.reader.forceFlush();
    const [exported] = this.exporter.getMetrics();
    const all = exported?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
    return new Map(all.map((metric) => [metric.descriptor.name, metric]));
  }

  async points(name: string): Promise<Point[]> {
    return (await this.collect()).get(name)?.dataPoints ?? [];
  }

  /** The value of the only series of this metric. */
  async number(name: string): Promise<number> {
    const [point] = await this.points(name);
    return point!.value as number;
  }

  /** The value of the only series of this metric. */
  async histogram(name: string): Promise<Histogram> {
    const [point] = await this.points(name);
    return point!.value as Histogram;
  }

  private setUp(): void {
    this.exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    this.reader = new PeriodicExportingMetricReader({
      exporter: this.exporter,
      exportIntervalMillis: 3_600_000,
    });
    metrics.disable();
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [this.reader] }));
  }

  private async shutDown(): Promise<void> {
    await this.reader.shutdown();
  }
}
