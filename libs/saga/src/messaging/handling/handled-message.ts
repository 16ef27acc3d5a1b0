import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from './incoming-message.js';

const handled = new AsyncLocalStorage<IncomingMessage>();

/** Calls a handler; whatever it publishes, directly or later, goes on with the trace of this message. */
export function handling<T>(message: IncomingMessage, call: () => T): T {
  return handled.run(message, call);
}

/** The message that is being handled here; undefined: none. */
export function handledMessage(): IncomingMessage | undefined {
  return handled.getStore();
}
