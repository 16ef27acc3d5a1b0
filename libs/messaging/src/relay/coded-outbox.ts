import { MessageRefusedError } from 'nestjs-durable-saga';
import type { JoinedTransaction } from 'nestjs-durable-saga/database';
import type { OutgoingMessage } from 'nestjs-durable-saga/internal';
import {
  type Coder,
  PostgresOutbox,
  type Settlement,
  type StoredDeadMessage,
  convertMessage,
} from 'nestjs-durable-saga/internal/runtime';
import type { MessageTransport, RelayedMessage } from './message-transport.js';

/** The outbox, of which a codec encodes payloads, and what failed messages failed by. */
export class CodedOutbox extends PostgresOutbox {
  constructor(
    sql: ConstructorParameters<typeof PostgresOutbox>[0],
    schema: string,
    private readonly coder: Coder,
  ) {
    super(sql, schema);
  }

  override publish(
    transaction: JoinedTransaction,
    messages: readonly (OutgoingMessage & { id: string })[],
  ): Promise<void> {
    return super.publish(
      transaction,
      messages.map((message) => convertMessage(message, this.coder.encoding)),
    );
  }

  override publishAlone(message: OutgoingMessage & { id: string }): Promise<void> {
    return super.publishAlone(convertMessage(message, this.coder.encoding));
  }

  override settle(lanes: Parameters<PostgresOutbox['settle']>[0], settlement: Settlement): Promise<void> {
    const failed = settlement.failed.map((message) => {
      const error = this.coder.encoding.text(message.error, errorOf, message);
      return { ...message, error };
    });
    return super.settle(lanes, { ...settlement, failed });
  }

  /** What cannot be decoded is given as it is stored: a dead message has to be seen to be requeued, or discarded. */
  override async dead(...page: Parameters<PostgresOutbox['dead']>): Promise<StoredDeadMessage[]> {
    return (await super.dead(...page)).map((message) => ({
      ...message,
      payload: orAsItIs(message, () => convertMessage(message, this.coder.decoding)).payload,
      error: orAsItIs(message.error, () => this.coder.decoding.text(message.error, errorOf, message)),
    }));
  }
}

/**
 * Sends messages as they were published. One that cannot be decoded is refused: it is tried again like others, since
 * another relay may have the key, and is dead in the end, until it is requeued.
 */
export function decodingTransport(transport: MessageTransport, coder: Coder): MessageTransport {
  return {
    send: async (message) => {
      await transport.send(decodedOrRefused(message, coder));
    },
    close: async () => transport.close?.(),
  };
}

function decodedOrRefused(message: RelayedMessage, coder: Coder): RelayedMessage {
  try {
    return convertMessage(message, coder.decoding);
  } catch (error) {
    throw new MessageRefusedError((error as Error).message, { cause: error });
  }
}

const errorOf = ({ id }: { readonly id: string }) => ({ kind: 'error', messageId: id }) as const;

function orAsItIs<T>(stored: T, decode: () => T): T {
  try {
    return decode();
  } catch {
    return stored;
  }
}
