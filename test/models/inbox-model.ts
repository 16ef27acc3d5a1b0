import type { InboxStore } from '../../libs/saga/src/store/outbox-store.js';
import type { JoinedTransaction } from '../../libs/saga/src/store/postgres/connection/saga-database.js';
import { sendWithin } from '../../libs/saga/src/store/postgres/connection/transaction-watch.js';
import {
  databaseError,
  type ModelTransaction,
  sessionOf,
  type TransactionModel,
} from './transaction-model.js';

/** The inbox of PostgreSQL, as a model: a unique index in which the second of two transactions waits for the first. */
export class InboxModel implements InboxStore {
  private readonly noted = new Map<string, ModelTransaction>();

  constructor(private readonly transactions: TransactionModel) {}

  isNew(on: JoinedTransaction, consumer: string, messageId: string): Promise<boolean> {
    const note = (transaction: ModelTransaction) => this.note(transaction, `${consumer}\0${messageId}`);
    return sendWithin(on, `Message '${messageId}'`, () => sessionOf(on).statement(note));
  }

  private async note(transaction: ModelTransaction, key: string): Promise<boolean> {
    for (;;) {
      const other = this.noted.get(key);
      if (other === undefined) break;
      if (other === transaction || other.status === 'committed') return false;
      await other.ended;
      // Its own connection was ended meanwhile.
      if (transaction.status !== 'open')
        throw databaseError('terminating connection due to administrator command', '57P01');
    }
    this.transactions.xidOf(transaction);
    this.noted.set(key, transaction);
    transaction.undo.push(() => void this.noted.delete(key));
    return true;
  }
}
