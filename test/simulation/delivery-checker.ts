import type { ModelTransaction } from '../models/transaction-model.js';
import type { Promised } from './promises.js';

/** A message, as those who publish it and those who get it see it. */
export interface Sent {
  readonly id: string;
  /** Topic and key. */
  readonly line: string;
  readonly transaction: ModelTransaction;
  /** The positions of its publication and of its commit, in one sequence. */
  readonly published: number;
  committed?: number;
  /** Rolled back to a savepoint before it. */
  isUndone: boolean;
  isDiscarded: boolean;
  /** It has arrived at the broker. */
  hasArrived: boolean;
  /** Transactions in which it took effect. */
  handled: number;
  /** The broker received its acknowledgement. */
  isDone: boolean;
}

/** Sees what is published, what arrives at the broker, and what handlers make of it. */
export class DeliveryChecker {
  readonly messages = new Map<string, Sent>();
  /** By id: the transactions of reported starts of sagas. */
  readonly starts = new Map<string, ModelTransaction>();
  private readonly lines = new Map<string, Sent[]>();
  private place = 0;

  constructor(private readonly violate: (promise: Promised, what: string) => void) {}

  /** A message is about to be published. The outcome of its transaction is recorded automatically. */
  publishes(transaction: ModelTransaction, id: string, topic: string, key: string): void {
    const line = `${topic} ${key}`;
    const sent: Sent = {
      ...{ id, line, transaction, published: (this.place += 1) },
      ...{ isUndone: false, isDiscarded: false, hasArrived: false, handled: 0, isDone: false },
    };
    this.messages.set(id, sent);
    const before = this.lines.get(line);
    if (before) before.push(sent);
    else this.lines.set(line, [sent]);
    transaction.undo.push(() => (sent.isUndone = true));
    transaction.onCommit.push(() => (sent.committed = this.place += 1));
  }

  /** The broker takes it. */
  arrives(id: string): void {
    const sent = this.messages.get(id);
    if (!sent || !isStored(sent)) return this.violate('I27', `${id} is sent, and was not committed`);
    if (sent.hasArrived) return;
    sent.hasArrived = true;
    const missing = this.lines
      .get(sent.line)!
      .find((other) => isToBeBefore(other, sent) && !other.hasArrived);
    if (missing) this.violate('I26', `${id} arrives before ${missing.id}`);
  }

  handled(id: string): void {
    const sent = this.messages.get(id)!;
    sent.handled += 1;
    if (sent.handled > 1) this.violate('I28', `${id} takes effect ${sent.handled} times`);
  }

  /** Its handler says so. */
  done(id: string): void {
    const sent = this.messages.get(id)!;
    sent.isDone = true;
    if (sent.handled === 0) this.violate('I28', `${id} is said to be handled, and has taken no effect`);
  }

  /** Messages that were committed, but not handled. */
  *missing(): Iterable<Sent> {
    for (const sent of this.messages.values()) {
      if (!isStored(sent) || (sent.isDiscarded && !sent.hasArrived)) continue;
      if (!sent.hasArrived || !sent.isDone) yield sent;
    }
  }
}

function isStored({ transaction, isUndone }: Sent): boolean {
  return transaction.status === 'committed' && !isUndone;
}

/** The order of messages within a transaction, and of consecutive transactions. */
function isToBeBefore(one: Sent, other: Sent): boolean {
  if (one === other || one.isDiscarded || !isStored(one)) return false;
  if (one.transaction === other.transaction) return one.published < other.published;
  return one.committed! < other.published;
}
