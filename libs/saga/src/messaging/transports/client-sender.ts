import type { RelayedMessage } from '../relay/message-transport.js';

/** How messages are sent by one kind of client. */
export interface ClientSender {
  send(message: RelayedMessage): Promise<void>;
}
