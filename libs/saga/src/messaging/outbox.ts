import { Inject, Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { v7 as uuid } from 'uuid';
import type { OutboxMessage } from '../definition/types/outbox-message.js';
import { shown } from '../shared/shown-value.js';
import { SagaStateError, SagaValidationError } from '../errors.js';
import { type OutgoingMessage, outgoingMessage } from '../engine/payload/outgoing-message.js';
import { partsOf, TRACEPARENT, traceOfSaga, traceparentOf } from '../engine/observe/trace-context.js';
import { readOptions } from '../nest/calls/call-options.js';
import type { Page } from '../nest/calls/saga-filter.js';
import { isUuid } from '../nest/calls/start-options.js';
import type { DeadMessage as StoredDeadMessage } from '../store/postgres/outbox/postgres-outbox.js';
import { handledMessage } from './handling/handled-message.js';
import { MessagingRuntime } from './messaging.runtime.js';
import { SAGA_ID } from '../engine/attempt/step-messages.js';

/** A message that the broker refused as often as it is tried. Later messages of its topic and key wait behind it. */
export interface DeadMessage {
  /** A UUID, as its receivers would see it. */
  readonly id: string;
  /** Where it was to be sent. */
  readonly topic: string;
  /** Messages of this topic and key wait behind it. */
  readonly key: string;
  /** What kind of message it is. */
  readonly type: string;
  /** As it was published. */
  readonly payload: unknown;
  /** As it was published, with what was added. */
  readonly headers: Readonly<Record<string, string>>;
  /** How often it was refused. */
  readonly attempts: number;
  /** Why the last attempt failed. */
  readonly error: string;
  /** When it was published. */
  readonly createdAt: Date;
  /** When it was given up. */
  readonly deadAt: Date;
}

/** Which dead messages `Outbox.dead()` gives. */
export interface DeadMessagesFilter {
  /** Messages on a page at most, 1 to 1,000; default 50. */
  limit?: number;
  /** `next` of the page before. Default: the first page. */
  cursor?: string;
}

const LONGEST_PAGE = 1_000;

/** Messages that are sent if, and only if, a transaction commits. */
@Injectable()
export class Outbox {
  /** @hidden */
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /**
   * Stores messages in the manager's transaction. They are sent after its commit, at least once, in this order per topic
   * and key; without that commit, never. Without a key a message is in no order with others. While a message is being
   * handled (`@DurableEvent`, `@SagaReply`), its trace goes on.
   * @returns their ids, which their receivers see
   * @throws SagaPayloadError naming the path of what cannot be sent; nothing is stored then
   * @throws SagaTransactionError when the manager's transaction is aborted already; what happens to it after this call,
   * only its commit can tell you
   */
  async publish(
    manager: EntityManager,
    messages: OutboxMessage | readonly OutboxMessage[],
  ): Promise<string[]> {
    return this.store(manager, messages, {});
  }

  /**
   * In a handler: as `publish`, to the saga that the handled message came from: with its `saga-id` and trace, and with
   * the saga's id as the key. `@SagaReply` takes it there.
   * @throws SagaStateError when no message of a saga is being handled
   */
  async reply(manager: EntityManager, messages: OutboxMessage | readonly OutboxMessage[]): Promise<string[]> {
    const saga = handledMessage()?.headers[SAGA_ID];
    if (saga === undefined)
      throw new SagaStateError(
        `reply(): ${handledMessage() ? `the message being handled has no ${SAGA_ID} header` : 'no message is being handled'}. ` +
          `Call it in a @DurableEvent handler of messages from sagas, or call publish() with a header that identifies the saga.`,
      );
    return this.store(manager, messages, { [SAGA_ID]: saga });
  }

  /**
   * Messages that were given up, the oldest first. A page ends after 8 MiB of them, too, and has at least one: there are
   * more as long as it has a `next`.
   */
  async dead(filter?: DeadMessagesFilter): Promise<Page<DeadMessage>> {
    const { limit = 50, cursor } = readOptions('dead(): filter', filter, ['limit', 'cursor']);
    if (!Number.isInteger(limit) || limit < 1 || limit > LONGEST_PAGE)
      throw new SagaValidationError(
        `dead(): limit is ${shown(limit)}; give a whole number from 1 to ${LONGEST_PAGE}.`,
      );
    const { outbox } = await this.runtime.ready();
    const rows = await outbox.dead(limit, cursor === undefined ? undefined : readCursor(cursor));
    const last = rows.at(-1);
    return {
      items: rows.map(shownDead),
      next: last && (rows.length === limit || last.more) ? `${last.deadAtText}~${last.id}` : undefined,
    };
  }

  /** Sends dead messages again, with all their attempts, and then what waits behind them. @returns how many were dead */
  async requeue(ids: readonly string[]): Promise<number> {
    const { outbox, announce } = await this.runtime.ready();
    const requeued = await outbox.requeue(readIds(ids, 'requeue'));
    await announce();
    return requeued;
  }

  /** Deletes dead messages, and sends what waits behind them. @returns how many were dead */
  async discard(ids: readonly string[]): Promise<number> {
    const { outbox, announce } = await this.runtime.ready();
    const discarded = await outbox.discard(readIds(ids, 'discard'));
    await announce();
    return discarded;
  }

  private async store(
    manager: EntityManager,
    given: OutboxMessage | readonly OutboxMessage[],
    headers: Record<string, string>,
  ): Promise<string[]> {
    const { outbox, options } = await this.runtime.ready();
    const many = Array.isArray(given);
    const messages = (many ? given : [given]) as readonly OutboxMessage[];
    const handled = partsOf(handledMessage()?.headers[TRACEPARENT]);
    const stored = messages.map((message, n) => {
      const id = uuid();
      const traced = {
        ...headers,
        [TRACEPARENT]: traceparentOf(handled?.trace ?? traceOfSaga(id), id, handled?.flags),
      };
      const what = many ? `messages[${n}]` : 'message';
      const defaults = { key: headers[SAGA_ID] ?? id, headers: traced };
      const outgoing: OutgoingMessage = outgoingMessage(message, what, options.maxPayloadBytes, defaults);
      return { id, ...outgoing };
    });
    await outbox.publish(manager, stored);
    return stored.map(({ id }) => id);
  }
}

function shownDead({ payload, ...message }: StoredDeadMessage): DeadMessage {
  const { deadAtText: _, more: __, ...rest } = message;
  return { ...rest, payload: JSON.parse(payload) as unknown };
}

function readCursor(cursor: string): { deadAt: string; id: string } {
  const [deadAt = '', id = ''] = typeof cursor === 'string' ? cursor.split('~', 2) : [];
  if (!isUuid(id) || Number.isNaN(Date.parse(deadAt)))
    throw new SagaValidationError(
      `dead(): cursor is ${shown(cursor)}; give the \`next\` of the previous page.`,
    );
  return { deadAt, id };
}

function readIds(ids: readonly string[], call: string): readonly string[] {
  if (Array.isArray(ids) && ids.every(isUuid)) return ids;
  throw new SagaValidationError(`${call}(): ids are ${shown(ids)}; give an array of message ids.`);
}
