import { EventEmitter } from 'node:events';
import type { EntityManager } from 'typeorm';
import type {
  JoinedTransaction,
  SagaDatabase,
} from '../../libs/saga/src/store/postgres/connection/saga-database.js';

/** As PostgreSQL's pg_snapshot: what had ended when it was taken. */
export interface ModelSnapshot {
  /** From here on everything is taken for open. */
  readonly xmax: number;
  /** Open ones below xmax. */
  readonly open: readonly number[];
}

/** A transaction, READ COMMITTED. Whatever it stores is there for others once it has committed. */
export class ModelTransaction {
  status: 'open' | 'aborted' | 'committed' | 'rolled back' = 'open';
  /** Given out with the first thing that is stored. */
  xid: number | undefined;
  readonly undo: (() => void)[] = [];
  readonly onCommit: (() => void)[] = [];
  readonly ended: Promise<void>;
  end!: () => void;

  constructor() {
    this.ended = new Promise((resolve) => (this.end = resolve));
  }
}

/** The transactions of a database as far as others notice them: ids, snapshots and ends. */
export class TransactionModel {
  private next = 3;
  private latestCompleted = 2;
  private readonly open = new Set<number>();

  /** Its id, which it is given now if it has none. */
  xidOf(transaction: ModelTransaction): number {
    if (transaction.xid === undefined) this.open.add((transaction.xid = this.next++));
    return transaction.xid;
  }

  /** The id of a statement that is a transaction of its own, and commits at once. */
  ofOneStatement(): number {
    return (this.latestCompleted = this.next++);
  }

  snapshot(): ModelSnapshot {
    const xmax = this.latestCompleted + 1;
    return { xmax, open: [...this.open].filter((xid) => xid < xmax).sort((a, b) => a - b) };
  }

  /** What PostgreSQL answers to COMMIT: ROLLBACK, and no error, if a statement failed before. */
  commit(transaction: ModelTransaction): 'COMMIT' | 'ROLLBACK' {
    if (transaction.status !== 'open') {
      this.rollback(transaction);
      return 'ROLLBACK';
    }
    transaction.status = 'committed';
    for (const then of transaction.onCommit) then();
    this.ends(transaction);
    return 'COMMIT';
  }

  rollback(transaction: ModelTransaction): void {
    if (transaction.status !== 'open' && transaction.status !== 'aborted') return;
    transaction.status = 'rolled back';
    for (const undo of transaction.undo.reverse()) undo();
    this.ends(transaction);
  }

  private ends(transaction: ModelTransaction): void {
    const { xid } = transaction;
    if (xid !== undefined) {
      this.open.delete(xid);
      this.latestCompleted = Math.max(this.latestCompleted, xid);
    }
    transaction.end();
  }
}

export const hasEnded = (xid: number, { xmax, open }: ModelSnapshot): boolean =>
  xid < xmax && !open.includes(xid);

/** How a statement gets to the database and its answer back. */
export type Send = <T>(statement: () => Promise<T>) => Promise<T>;

/** A connection with a transaction in it, as TypeORM's manager of a transaction is one. */
export class ModelSession {
  readonly transaction = new ModelTransaction();
  /** As pg's: the messages of the server, by name. */
  readonly connection = new EventEmitter();
  private savepoints = 0;

  constructor(
    private readonly transactions: TransactionModel,
    private readonly send: Send = (statement) => statement(),
  ) {}

  get manager(): EntityManager {
    const { transaction } = this;
    const manager: ManagerOfModel = {
      session: this,
      queryRunner: {
        connect: async () => this,
        get isTransactionActive() {
          return transaction.status === 'open' || transaction.status === 'aborted';
        },
      },
      query: (text) => this.statement(async () => text),
      transaction: (work) => this.nested(() => work(this.manager)),
    };
    return manager as unknown as EntityManager;
  }

  /** Runs something in the transaction; it aborts it by failing. */
  statement<T>(run: (transaction: ModelTransaction) => Promise<T>): Promise<T> {
    return this.send(async () => {
      const { transaction } = this;
      if (transaction.status !== 'open') throw abortedError();
      try {
        return await run(transaction);
      } catch (error) {
        if (transaction.status === 'open') transaction.status = 'aborted';
        this.connection.emit('errorMessage', error);
        throw error;
      } finally {
        this.ready();
      }
    });
  }

  commit(): Promise<void> {
    return this.send(async () => {
      this.connection.emit('commandComplete', { text: this.transactions.commit(this.transaction) });
      this.ready();
    });
  }

  rollback(): Promise<void> {
    return this.send(async () => {
      this.transactions.rollback(this.transaction);
      this.connection.emit('commandComplete', { text: 'ROLLBACK' });
      this.ready();
    });
  }

  private ready(): void {
    const { status } = this.transaction;
    this.connection.emit('readyForQuery', {
      status: status === 'open' ? 'T' : status === 'aborted' ? 'E' : 'I',
    });
  }

  /** A savepoint, and back to it if the work throws. */
  private async nested<T>(work: () => Promise<T>): Promise<T> {
    const { transaction } = this;
    const name = `typeorm_${(this.savepoints += 1)}`;
    const place = await this.statement(
      async () => [transaction.undo.length, transaction.onCommit.length] as const,
    );
    try {
      const result = await work();
      await this.statement(async () => `RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      await this.send(async () => {
        for (const undo of transaction.undo.splice(place[0]).reverse()) undo();
        transaction.onCommit.splice(place[1]);
        if (transaction.status === 'aborted') transaction.status = 'open';
        this.ready();
      });
      throw error;
    }
  }
}

interface ManagerOfModel {
  readonly session: ModelSession;
  readonly queryRunner: { connect(): Promise<object>; readonly isTransactionActive: boolean };
  query(text: string): Promise<unknown>;
  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T>;
}

/** The session whose transaction this is: a manager's, or joined. */
export function sessionOf(transaction: unknown): ModelSession {
  return (transaction as ManagerOfModel).session;
}

/** The statements of a manager's transaction. */
export function joinedOf(manager: EntityManager): JoinedTransaction {
  const session = sessionOf(manager);
  const joined = {
    session,
    query: async <Rows>(text: string) => (await manager.query(text)) as Rows,
    connection: async () => session,
  };
  return joined;
}

/** A database whose transactions are those of the model. */
export const MODEL_DATABASE: Pick<SagaDatabase<EntityManager>, 'join' | 'opener'> = {
  join: (manager) => joinedOf(manager as EntityManager),
  opener: (source) => {
    const manager = source as EntityManager;
    return manager.queryRunner?.isTransactionActive ? undefined : (work) => manager.transaction(work);
  },
};

/** A manager outside of transactions, as that of a DataSource: each transaction has a session of its own. */
export function managerOver(sessions: () => ModelSession): EntityManager {
  const transaction = async <T>(work: (manager: EntityManager) => Promise<T>): Promise<T> => {
    const session = sessions();
    try {
      await session.statement(async () => 'START TRANSACTION');
      const result = await work(session.manager);
      await session.commit();
      return result;
    } catch (error) {
      await session.rollback().catch(() => undefined);
      throw error;
    }
  };
  return { transaction } as unknown as EntityManager;
}

export function databaseError(message: string, code: string): Error {
  return Object.assign(new Error(message), { name: 'QueryFailedError', code });
}

function abortedError(): Error {
  return databaseError(
    'current transaction is aborted, commands ignored until end of transaction block',
    '25P02',
  );
}
