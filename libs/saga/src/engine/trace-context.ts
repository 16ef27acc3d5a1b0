/** The header by which traces go on over hops: https://www.w3.org/TR/trace-context/ */
export const TRACEPARENT = 'traceparent';

const PATTERN = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;

/** The trace of a saga, which all its messages belong to: its id without dashes. */
export function traceOfSaga(sagaId: string): string {
  return sagaId.replaceAll('-', '').toLowerCase();
}

/** The trace that a `traceparent` belongs to; undefined: it is none. */
export function traceOf(traceparent: string | undefined): string | undefined {
  const trace = traceparent === undefined ? undefined : PATTERN.exec(traceparent)?.[1];
  return trace === undefined || /^0+$/.test(trace) ? undefined : trace;
}

/**
 * The `traceparent` of a message. Its span is made of the message's id (a UUID), so that the same message always has
 * the same one.
 */
export function traceparentOf(trace: string, messageId: string): string {
  return `00-${trace}-${traceOfSaga(messageId).slice(-16)}-01`;
}
