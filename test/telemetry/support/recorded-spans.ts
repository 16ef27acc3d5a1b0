import { context, type Span, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  SamplingDecision,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { until } from '../../support/gate.js';

/** OpenTelemetry as an application sets it up, with an exporter that keeps what it is given. Each test begins with nothing. */
export class RecordedSpans {
  private readonly exporter = new InMemorySpanExporter();
  private sampled = true;

  /** To be called at the top of a file. */
  static ofThisFile(): RecordedSpans {
    const recorded = new RecordedSpans();
    beforeAll(() => recorded.setUp());
    afterEach(() => recorded.forget());
    return recorded;
  }

  /** What the test's own code does within a span of its own, as a request that comes in. */
  async inSpan<T>(name: string, work: (span: Span) => Promise<T>): Promise<T> {
    return trace.getTracer('test').startActiveSpan(name, async (span) => {
      try {
        return await work(span);
      } finally {
        span.end();
      }
    });
  }

  /** New traces are not kept from here on, to the end of the test. */
  sampleNothing(): void {
    this.sampled = false;
  }

  get all(): ReadableSpan[] {
    return this.exporter.getFinishedSpans();
  }

  get names(): string[] {
    return this.all.map(({ name }) => name);
  }

  /**
   * Waits until spans of these names have ended. The outcome of a saga may be known, from what is stored, before its worker has the
   * answer to its own checkpoint, and in other processes at any time.
   */
  async ended(...names: readonly string[]): Promise<void> {
    await until(() => names.every((name) => this.names.includes(name)));
  }

  /** @throws when there is not exactly one of this name */
  one(name: string): ReadableSpan {
    const found = this.all.filter((span) => span.name === name);
    if (found.length !== 1) throw new Error(`${found.length} spans '${name}' of ${this.names.join(', ')}`);
    return found[0]!;
  }

  /** Each span under what it hangs below, as far as that ended here; in the order in which they began. */
  tree(): string[] {
    const byId = new Map(this.all.map((span) => [span.spanContext().spanId, span]));
    const depth = (span: ReadableSpan): number => {
      const parent = byId.get(span.parentSpanContext?.spanId ?? '');
      return parent ? depth(parent) + 1 : 0;
    };
    return this.all.map((span) => `${'  '.repeat(depth(span))}${span.name}`);
  }

  private setUp(): void {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    const root = {
      shouldSample: () => ({
        decision: this.sampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
      }),
    };
    const provider = new BasicTracerProvider({
      sampler: new ParentBasedSampler({ root }),
      spanProcessors: [new SimpleSpanProcessor(this.exporter)],
    });
    trace.setGlobalTracerProvider(provider);
  }

  private forget(): void {
    this.exporter.reset();
    this.sampled = true;
  }
}

/** `traceparent` of a span. */
export function traceparentOf(span: ReadableSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
}
