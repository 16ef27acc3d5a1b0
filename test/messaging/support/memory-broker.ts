import { MessageRefusedError } from '../../../libs/messaging/src/index.js';
import type { MessageTransport, RelayedMessage } from '../../../libs/messaging/src/index.js';

/** A broker in memory, which a test may take down, and tell whom to refuse. */
export class MemoryBroker implements MessageTransport {
  /** What it took, in order. */
  readonly taken: RelayedMessage[] = [];
  /** Every attempt, whatever its result. */
  readonly asked: string[] = [];
  /** If true, the broker does not answer. */
  down = false;
  /** Called before a message is taken: throws, or waits. */
  before: (message: RelayedMessage) => void | Promise<void> = () => undefined;

  async send(message: RelayedMessage): Promise<void> {
    this.asked.push(payloadOf(message));
    if (this.down) throw new Error('ECONNREFUSED');
    await this.before(message);
    if (this.down) throw new Error('ECONNRESET');
    this.taken.push(message);
  }

  get payloads(): string[] {
    return this.taken.map(payloadOf);
  }

  /** In the order in which it took them. */
  ofKey(key: string): string[] {
    return this.taken.filter((message) => message.key === key).map(payloadOf);
  }
}

export function payloadOf({ payload }: RelayedMessage): string {
  return String(JSON.parse(payload));
}

/** Refuses messages with these payloads. */
export function refusing(...payloads: string[]) {
  return (message: RelayedMessage): void => {
    if (payloads.includes(payloadOf(message))) throw new MessageRefusedError(`refused ${payloadOf(message)}`);
  };
}
