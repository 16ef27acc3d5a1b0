import { implement } from '@restatedev/restate-sdk';
import { inTime } from 'nestjs-durable-saga/internal';
import type { StoredMessage } from 'nestjs-durable-saga/internal/backend';
import { MESSAGES } from './contracts.js';
import { OPTIONS } from './object-options.js';

/** What gives messages to a broker: a transport of `nestjs-durable-saga-messaging`, or your own. */
export interface MessageTransport {
  /**
   * Sends a message, and resolves when the broker has stored it. It is called for many messages concurrently, but never for two
   * messages of one topic and key.
   * @throws if the broker has not taken it: it is sent again
   */
  send(message: StoredMessage): Promise<void>;
  /** Closes the transport when the application stops. */
  close?(): Promise<void>;
}

/** Gives a message to the broker, and resolves once the broker has stored it. */
export type SendMessage = (message: StoredMessage) => Promise<void>;

/** How long (ms) the broker may take to confirm a message before it is sent again. As with the relay of an outbox. */
const CONFIRMED_WITHIN = 30_000;
/** How long (ms) Restate waits before a message that the broker did not take is sent again. */
const SENT_AGAIN = { initialRetryInterval: 100, retryIntervalFactor: 2, maxRetryInterval: 60_000 };

/**
 * The object of the messages of one topic and key. A message that the broker does not take is sent again until it does, and those
 * after it wait: Restate shows it, and an operator may have Restate kill the call, so that the message is not sent.
 */
export function messageObject(send: SendMessage) {
  return implement(MESSAGES, {
    options: OPTIONS,
    handlers: { send: async (ctx, message) => ctx.run('send', () => send(message), SENT_AGAIN) },
  });
}

/** @throws if the broker refuses a message, or does not confirm it in time */
export function sendBy(
  transport: MessageTransport | undefined,
  relayed: (message: StoredMessage) => StoredMessage,
): SendMessage {
  return async (message) => {
    // A process before it in a deployment, or another application at the same address.
    if (!transport) throw new Error('restateEngine() has no transport in this process');
    await inTime(CONFIRMED_WITHIN, 'The broker', Promise.resolve(transport.send(relayed(message))));
  };
}
