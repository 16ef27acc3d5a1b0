import { AsyncLocalStorage } from 'node:async_hooks';

type Headers = Readonly<Record<string, string>>;

const handled = new AsyncLocalStorage<Headers>();

/** Calls a handler of a message; what it publishes or starts, directly or later, goes on with the trace in these headers. */
export function handling<T>(headers: Headers, call: () => T): T {
  return handled.run(headers, call);
}

/** The headers of the message that is being handled here; undefined: none. */
export function handledHeaders(): Headers | undefined {
  return handled.getStore();
}
