import type { OutboxMessage } from '../../definition/types/outbox-message.js';
import { SagaStateError } from '../../errors.js';
import { NOTHING } from '../../shared/empty-array.js';
import { outgoingMessage } from '../payload/outgoing-message.js';
import { addTagChanges, type TagChanges } from '../payload/tags.js';
import type { StoredMessage } from '../ports/checkpoint.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { TRACEPARENT, storedTraceOf, traceparentOf } from '../observe/trace-context.js';

/** The header by which those who answer know the saga. */
export const SAGA_ID = 'saga-id';

export interface PublishPorts {
  readonly maxPayloadBytes: number;
  /** A UUID. */
  readonly newId: () => string;
}

/**
 * What one attempt publishes, and how it changes the tags of its saga: stored if, and only if, what the attempt comes to
 * is stored.
 */
export class StepMessages {
  private messages: StoredMessage[] = NOTHING;
  /** Undefined: the tags stay as they are. */
  tagChanges: TagChanges | undefined;
  /** Messages may be published, and tags set. */
  isOpen = false;
  /** The span of the attempt in progress. Undefined: it has none. */
  private traceparent: string | undefined;

  constructor(
    private readonly sagaId: string,
    private readonly ports: PublishPorts,
    private readonly tags?: StoredSaga['tags'],
  ) {}

  get all(): readonly StoredMessage[] {
    return this.messages;
  }

  /**
   * Publishes a message with the checkpoint of the attempt.
   * @throws SagaPayloadError naming what is wrong with the message
   * @throws SagaStateError if the run does not wait for this attempt any more
   */
  publish(message: OutboxMessage): void {
    this.requireOpen('publish()');
    const id = this.ports.newId();
    const headers = { [SAGA_ID]: this.sagaId, [TRACEPARENT]: this.traceparent ?? this.traceparentOf(id) };
    const defaults = { key: this.sagaId, headers };
    const stored = { id, ...outgoingMessage(message, 'message', this.ports.maxPayloadBytes, defaults) };
    if (this.messages === NOTHING) this.messages = [stored];
    else this.messages.push(stored);
  }

  /**
   * Changes tags of the saga with the checkpoint of the attempt.
   * @throws SagaValidationError if these are no tags
   * @throws SagaStateError if the run does not wait for this attempt any more
   */
  setTags(given: TagChanges): void {
    this.requireOpen('setTags()');
    this.tagChanges = addTagChanges(this.tags, this.tagChanges, given);
  }

  private requireOpen(call: string): void {
    if (!this.isOpen) throw calledOutside(`Saga ${this.sagaId}: ${call}`);
  }

  private traceparentOf(message: string): string {
    const { trace, flags } = storedTraceOf(this.sagaId, this.tags);
    return traceparentOf(trace, message, flags);
  }

  /**
   * The method is called, again perhaps: what it published and set before does not count.
   * @param traceparent what its messages follow from; default: its saga
   */
  open(traceparent?: string): void {
    this.traceparent = traceparent;
    this.tagChanges = undefined;
    this.messages = NOTHING;
    this.isOpen = true;
  }

  close(): void {
    this.isOpen = false;
  }

  /** The attempt failed. What the attempt that decides its outcome has published and set counts instead. */
  replaceBy({ messages, tagChanges }: StepMessages): void {
    this.messages = messages;
    this.tagChanges = tagChanges;
  }
}

/** @param call whose call it is, and its name */
export function calledOutside(call: string): SagaStateError {
  return new SagaStateError(
    `${call} can be called only in a step's method or compensation, before it returns; not in \`when\` and \`forEach\`, ` +
      `and not in work that continues afterwards.`,
  );
}
