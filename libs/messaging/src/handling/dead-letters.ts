import { Inject, Injectable } from '@nestjs/common';
import { createHash } from 'node:crypto';
import { cut, outgoingMessage, newId } from 'nestjs-durable-saga/internal';
import { MessagingRuntime } from '../messaging.runtime.js';
import type { DurableSettings } from './durable-settings.js';
import { type IncomingMessage, labelOf } from './incoming-message.js';

/** Messages of a handler whose failures are counted at once. Beyond, the count of the one that failed first begins anew. */
const MOST_COUNTED = 10_000;
/** Characters of an error in a header. */
const LONGEST_ERROR = 1_000;

/** Counts how often the handler of a topic has failed for each message, in this process. */
export class FailureCounts {
  private readonly counts = new Map<string, number>();

  failed(message: IncomingMessage): number {
    const name = nameOf(message);
    const count = (this.counts.get(name) ?? 0) + 1;
    this.counts.set(name, count);
    if (this.counts.size > MOST_COUNTED) this.counts.delete(this.counts.keys().next().value!);
    return count;
  }

  over(message: IncomingMessage): void {
    if (this.counts.size > 0) this.counts.delete(nameOf(message));
  }
}

/** A message of a sender without ids is known by its content. */
function nameOf({ id, key, type, payload }: IncomingMessage): string {
  if (id !== '') return id;
  return createHash('sha256')
    .update(JSON.stringify([key, type, payload]))
    .digest('base64');
}

/** Stores messages that a handler has failed for too often, in the outbox, for the topic of its dead letters. */
@Injectable()
export class DeadLetters {
  constructor(@Inject(MessagingRuntime) private readonly runtime: MessagingRuntime) {}

  /** @throws whatever keeps it from being stored; the broker is to deliver the message again */
  async store(
    { id, key, type, headers, payload }: IncomingMessage,
    { topic, deadLetters }: DurableSettings,
    error: string,
  ): Promise<void> {
    const { databases, options } = await this.runtime.ready();
    const letter = {
      ...{ topic: deadLetters!, payload, ...(key !== '' && { key }), ...(type !== '' && { type }) },
      headers: {
        ...headers,
        'dead-letter-topic': topic,
        'dead-letter-error': cut(error.replaceAll(/[\p{Cc}\p{Cs}]/gu, ' '), LONGEST_ERROR),
        ...(id !== '' && { 'dead-letter-id': id }),
      },
    };
    const own = newId();
    const message = outgoingMessage(
      letter,
      `the dead letter of ${labelOf({ id })}`,
      options.maxPayloadBytes,
      {
        key: own,
      },
    );
    await databases.all[0]!.outbox.publishAlone({ id: own, ...message });
  }
}
