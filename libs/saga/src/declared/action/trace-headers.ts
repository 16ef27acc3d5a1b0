import { channel } from 'node:diagnostics_channel';
import type * as opentelemetry from '@opentelemetry/api';

/** Instrumentations of undici add the trace's headers here, and a second `traceparent` would be invalid. */
const REQUESTS = channel('undici:request:create');

/** The headers by which the trace of the active span goes on, as the application's propagator writes them. */
export function traceHeaders(api: typeof opentelemetry | undefined): Record<string, string> {
  const headers: Record<string, string> = {};
  if (api && !REQUESTS.hasSubscribers) api.propagation.inject(api.context.active(), headers);
  return headers;
}
