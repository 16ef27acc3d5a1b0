/** The header by which traces go on over hops: https://www.w3.org/TR/trace-context/ */
export const TRACEPARENT = 'traceparent';

/** The tag that a saga's trace is stored as: the `traceparent` of its start, so that it goes on in whichever process. */
export const TRACE_TAG = TRACEPARENT;

/** A trace or a span of zeros only is invalid. */
const PATTERN = /^[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/;

/** The trace of a saga, which all its messages belong to: its id without dashes. */
export function traceOfSaga(sagaId: string): string {
  return sagaId.replaceAll('-', '').toLowerCase();
}

/**
 * The `traceparent` of a message. Its span is made of the message's id (a UUID), so that the same message always has
 * the same one.
 * @param flags two hexadecimal digits; `01`: sampled
 */
export function traceparentOf(trace: string, messageId: string, flags = '01'): string {
  return `00-${trace}-${traceOfSaga(messageId).slice(-16)}-${flags}`;
}

/** The parts of a `traceparent`. */
export interface TraceParts {
  readonly trace: string;
  readonly span: string;
  /** Two hexadecimal digits. */
  readonly flags: string;
}

/** Undefined: it is no `traceparent`. */
export function partsOf(traceparent = ''): TraceParts | undefined {
  const [, trace, span, flags] = PATTERN.exec(traceparent) ?? [];
  return trace === undefined ? undefined : { trace, span: span!, flags: flags! };
}

/**
 * The trace that a saga belongs to: the one that it was started in, or one of its own.
 * @param tags its own, or those that it has from the saga that started it
 */
export function storedTraceOf(sagaId: string, tags?: Readonly<Record<string, string>>): TraceParts {
  const own = traceOfSaga(sagaId);
  return partsOf(tags?.[TRACE_TAG]) ?? { trace: own, span: own.slice(-16), flags: '01' };
}
