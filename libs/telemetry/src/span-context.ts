import {
  context,
  type Context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace,
  TraceFlags,
} from '@opentelemetry/api';
import {
  TRACEPARENT,
  type TraceParts,
  handledHeaders,
  partsOf,
  storedTraceOf,
} from 'nestjs-durable-saga/internal/runtime';

/** The `traceparent` of a span; undefined: it has no ids, since no tracing is set up. */
export function traceparentOfSpan(span: Span): string | undefined {
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return undefined;
  const { traceId, spanId, traceFlags } = context;
  return `00-${traceId}-${spanId}-${(traceFlags & TraceFlags.SAMPLED).toString(16).padStart(2, '0')}`;
}

/**
 * What the spans of a saga hang below, in whichever process: the span of its start, which is stored with it. A saga that
 * was started without this entry has the trace that its messages have anyway, made of its id.
 */
export function contextOfSaga(saga: {
  readonly id: string;
  readonly tags?: Readonly<Record<string, string>>;
}): Context {
  return remote(ROOT_CONTEXT, storedTraceOf(saga.id, saga.tags));
}

/**
 * Where a saga is started: in the span that is active, or else from the message that is being handled, whose trace goes
 * on also where nothing instruments the broker's client.
 */
export function contextOfStarter(): Context {
  const active = context.active();
  const message = trace.getSpan(active) ? undefined : partsOf(handledHeaders()?.[TRACEPARENT]);
  return message ? remote(active, message) : active;
}

function remote(within: Context, { trace: traceId, span: spanId, flags }: TraceParts): Context {
  const spanContext: SpanContext = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return trace.setSpanContext(within, spanContext);
}
