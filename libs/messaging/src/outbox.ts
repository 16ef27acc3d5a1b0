import { Inject, Injectable } from '@nestjs/common';
import { type OutboxMessage, type Page, SagaStateError, SagaValidationError } from 'nestjs-durable-saga';
import {
  type Kind,
  type OptionTable,
  type OutgoingMessage,
  isUuid,
  optional,
  outgoingMessage,
  readOptions,
  shown,
  newId,
} from 'nestjs-durable-saga/internal';
import {
  CURSOR_RULE,
  SAGA_ID,
  type StoredDeadMessage,
  TRACEPARENT,
  handledHeaders,
  pageSize,
  partsOf,
  traceOfSaga,
  traceparentOf,
} from 'nestjs-durable-saga/internal/runtime';
import { oldestDeadFirst } from './databases/merge-dead.js';
import type { MessagingDatabase } from './databases/messaging-database.js';
import { MessagingRuntime } from './messaging.runtime.js';

/**
 * A message whose retries are exhausted because the broker rejected it. Later messages of its topic and key wait for
 * it.
 */
export interface DeadMessage {
  /** A UUID, which receivers see. */
  readonly id: string;
  /** The destination. */
  readonly topic: string;
  /** The key. Later messages of this topic and key wait for the dead message. */
  readonly key: string;
  /** The type of the message. */
  readonly type: string;
  /** The payload as it was published. */
  readonly payload: unknown;
  /** The headers as they were published, and the headers that the outbox added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The number of rejected attempts. */
  readonly attempts: number;
  /** The error of the last attempt. */
  readonly error: string;
  /** The time at which it was published. */
  readonly createdAt: Date;
  /** The time of the last attempt. */
  readonly deadAt: Date;
}

/** The page of dead messages that `Outbox.dead()` returns. */
export interface DeadMessagesFilter {
  /** The maximum number of messages on a page, 1 to 1,000. Default: 50. */
  limit?: number;
  /** The `next` of the previous page. Default: the first page. */
  cursor?: string;
}

const cursorPlace: Kind<string, { deadAt: string; id: string }> = {
  read: (value, option, reader) => {
    const [deadAt = '', id = ''] = typeof value === 'string' ? value.split('~', 2) : [];
    if (isUuid(id) && !Number.isNaN(Date.parse(deadAt))) return { deadAt, id };
    return reader.refuse(value, option, CURSOR_RULE);
  },
};
const DEAD_FILTER = {
  limit: pageSize,
  cursor: optional(cursorPlace),
} satisfies OptionTable<DeadMessagesFilter>;

/** Publishes messages that are sent if, and only if, a transaction commits. */
@Injectable()
export class Outbox {
  /** @hidden */
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /**
   * Stores messages in a transaction: an EntityManager of TypeORM, or the transaction of the layer whose database the
   * module was given. If it commits, they are sent at least once, in this order per topic
   * and key. If it does not commit, they are never sent. Messages without a key have no order. In a handler
   * (`@DurableEvent`, `@SagaReply`), the messages continue the trace of the handled message.
   * @returns their ids, which receivers see
   * @throws SagaPayloadError that names the path of the invalid value; then nothing is stored
   * @throws SagaTransactionError if the transaction is already aborted, or is not one of the module's database
   */
  publish(transaction: object, messages: OutboxMessage | readonly OutboxMessage[]): Promise<string[]>;
  /**
   * Stores messages in the transaction that is open in the context of the call: `SagaModule.forRoot({ ambient })`.
   * @throws SagaTransactionError if none is open
   */
  publish(messages: OutboxMessage | readonly OutboxMessage[]): Promise<string[]>;
  async publish(...given: [object] | [object, OutboxMessage | readonly OutboxMessage[]]): Promise<string[]> {
    const [messages, transaction] =
      given.length === 1
        ? [given[0] as OutboxMessage, this.runtime.ambientTransaction('publish')]
        : [given[1], given[0]];
    return this.store(transaction, messages, {});
  }

  /**
   * Publishes messages, in a handler, to the saga that sent the handled message: with its `saga-id` and trace, and with
   * the saga's id as the key. `@SagaReply` receives them there.
   * @throws SagaStateError if no message of a saga is being handled
   */
  async reply(transaction: object, messages: OutboxMessage | readonly OutboxMessage[]): Promise<string[]> {
    const saga = handledHeaders()?.[SAGA_ID];
    if (saga === undefined)
      throw new SagaStateError(
        `reply(): ${handledHeaders() ? `the message being handled has no ${SAGA_ID} header` : 'no message is being handled'}. ` +
          `Call it in a @DurableEvent handler of messages from sagas, or call publish() with a header that identifies the saga.`,
      );
    return this.store(transaction, messages, { [SAGA_ID]: saga });
  }

  /**
   * Lists dead messages, oldest first. A page has at least one message and at most about 8 MiB. More messages exist as
   * long as the page has a `next`.
   */
  async dead(filter?: DeadMessagesFilter): Promise<Page<DeadMessage>> {
    const { limit, cursor: after } = readOptions('dead()', DEAD_FILTER, filter, 'filter');
    const { databases } = await this.runtime.ready();
    const { answers, unavailable } = await databases.ask(({ outbox }) => outbox.dead(limit, after));
    const { rows, more } = oldestDeadFirst(answers, limit);
    const last = rows.at(-1);
    return {
      items: rows.map(shownDead),
      next: last && more ? `${last.deadAtText}~${last.id}` : undefined,
      ...(unavailable.length > 0 && { unreachable: unavailable.map(({ shard }) => shard) }),
    };
  }

  /**
   * Sends dead messages again, with all of their attempts, and then the messages that wait for them. @returns the
   * number of messages that were dead
   */
  async requeue(ids: readonly string[]): Promise<number> {
    const read = readIds(ids, 'requeue');
    return this.change((outbox) => outbox.requeue(read));
  }

  /** Deletes dead messages, and sends the messages that wait for them. @returns the number of messages that were dead */
  async discard(ids: readonly string[]): Promise<number> {
    const read = readIds(ids, 'discard');
    return this.change((outbox) => outbox.discard(read));
  }

  /** On each shard: a message is in the outbox of one of them. */
  private async change(call: (outbox: MessagingDatabase['outbox']) => Promise<number>): Promise<number> {
    const { databases } = await this.runtime.ready();
    const { answers, unavailable } = await databases.ask(async (database) => {
      const changed = await call(database.outbox);
      await database.announce();
      return changed;
    });
    if (unavailable.length > 0) throw unavailable[0]!;
    return answers.reduce((sum, changed) => sum + changed, 0);
  }

  private async store(
    transaction: object,
    given: OutboxMessage | readonly OutboxMessage[],
    headers: Record<string, string>,
  ): Promise<string[]> {
    const { databases, options } = await this.runtime.ready();
    const many = Array.isArray(given);
    const messages = (many ? given : [given]) as readonly OutboxMessage[];
    const handled = partsOf(handledHeaders()?.[TRACEPARENT]);
    const stored = messages.map((message, n) => {
      const id = newId();
      const traced = {
        ...headers,
        [TRACEPARENT]: traceparentOf(handled?.trace ?? traceOfSaga(id), id, handled?.flags),
      };
      const what = many ? `messages[${n}]` : 'message';
      const defaults = { key: headers[SAGA_ID] ?? id, headers: traced };
      const outgoing: OutgoingMessage = outgoingMessage(message, what, options.maxPayloadBytes, defaults);
      return { id, ...outgoing };
    });
    const joined = databases.join(transaction);
    const { outbox } = await databases.databaseOf(joined);
    await outbox.publish(joined, stored);
    return stored.map(({ id }) => id);
  }
}

function shownDead({ payload, ...message }: StoredDeadMessage): DeadMessage {
  const { deadAtText: _, more: __, ...rest } = message;
  return { ...rest, payload: JSON.parse(payload) as unknown };
}

function readIds(ids: readonly string[], call: string): readonly string[] {
  if (Array.isArray(ids) && ids.every(isUuid)) return ids;
  throw new SagaValidationError(`${call}(): ids are ${shown(ids)}; give an array of message ids.`);
}
