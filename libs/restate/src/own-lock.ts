import {
  hasLock,
  type LockDeadlock,
  type LockedRow,
  type MemoryFamilies,
  MemoryLockQueues,
} from 'nestjs-durable-saga/internal/backend';

/** The place of the saga, or who has the lock. */
export type Arrived = { readonly place: number } | { readonly holder: string };

/** What a claim is to store of its saga. */
export interface LockAnswer extends Omit<LockedRow, 'saga'> {
  /** The saga has the lock, or fails for the lack of it. */
  readonly runs: boolean;
  readonly dueAt?: number;
  readonly deadline?: number;
  readonly deadlock?: LockDeadlock;
}

/** What the object of a lock has answered. */
export interface LockAnswers {
  readonly arrived?: Arrived;
  readonly enqueued?: LockAnswer;
}

/** The object of the lock has to be asked first. */
export class LockQuestion extends Error {
  constructor(readonly row: LockedRow) {
    super('Who has the lock is not known');
  }
}

/** The lock of a single saga, by the answers of its object. */
export class OwnLock extends MemoryLockQueues {
  constructor(
    families: MemoryFamilies,
    announceDue: () => void,
    private readonly answers: LockAnswers,
  ) {
    super(families, announceDue);
  }

  override arrive(row: LockedRow): void {
    const { arrived } = this.answers;
    if (row.lock && arrived && 'place' in arrived) row.lock.place = arrived.place;
  }

  override holderOf(): string | undefined {
    const { arrived } = this.answers;
    return arrived && 'holder' in arrived ? arrived.holder : undefined;
  }

  override enqueue(row: LockedRow): boolean {
    if (!row.lock || hasLock(row)) return true;
    if (!this.answers.enqueued) throw new LockQuestion(row);
    const { runs, lock, left, dueAt, deadlock, deadline } = this.answers.enqueued;
    Object.assign(row, { lock, left });
    Object.assign(row.saga, { dueAt: runs ? row.saga.dueAt : dueAt, deadlock });
    if (deadline !== undefined) row.saga.state = { ...row.saga.state, deadline };
    return runs;
  }
}
