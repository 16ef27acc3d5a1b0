import type { ObjectSharedContext } from '@restatedev/restate-sdk';
import {
  INITIAL,
  isLinked,
  type LockedRow,
  MemoryFamilies,
  MemoryLockQueues,
  queueKey,
  type RowLock,
} from 'nestjs-durable-saga/internal/backend';
import { LOCK, type QueuedSaga, SAGA } from './contracts.js';

/** What was read of the objects of locks and sagas. */
export interface Known {
  /** The queue that is asked about. */
  readonly own: string;
  readonly rows: Map<string, LockedRow | undefined>;
  readonly queues: Map<string, readonly QueuedSaga[]>;
}

/** The rules of the store in memory want to know of a saga, or of a queue, that was not read yet. */
class Unread extends Error {
  constructor(
    readonly what: 'row' | 'queue',
    readonly key: string,
  ) {
    super(`The ${what} ${key} was not read`);
  }
}

/** Applies the rules, again with each thing that they want to know. */
export async function decided<T>(
  ctx: ObjectSharedContext,
  known: Known,
  work: (queues: MemoryLockQueues, view: View) => T,
  now: number,
): Promise<{ readonly result: T; readonly view: View }> {
  for (;;) {
    const view = new View(known);
    const last = known.queues.get(known.own)!.at(-1)?.lock.place ?? 0;
    try {
      const queues = new MemoryLockQueues(
        new Families(view),
        () => undefined,
        view.queues,
        Math.max(now, last),
      );
      return { result: work(queues, view), view };
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      const { what, key } = error;
      if (what === 'queue') known.queues.set(key, await ctx.client(LOCK, key).read());
      else known.rows.set(key, (await ctx.client(SAGA, key).read())?.row ?? arriving(known, key));
    }
  }
}

/** The sagas and queues as the rules see them. They change copies. */
export class View {
  private readonly members = new Map<string, Member>();
  readonly queues: Map<string, LockedRow[]>;

  constructor(private readonly known: Known) {
    this.queues = new ReadQueues((key) => this.queueOf(key));
    this.queues.get(known.own);
  }

  member(id: string): Member {
    const member = this.members.get(id) ?? new Member(id, this.known);
    this.members.set(id, member);
    return member;
  }

  /** A saga of a family, with its lock as its queue has it. */
  get(id: string): Member | undefined {
    const row = rowOf(this.known, id);
    if (row?.lock) this.queues.get(queueKey(row.saga.name, row.lock.key));
    return row && this.member(id);
  }

  /** What the rules have looked at. */
  get read(): Member[] {
    return [...this.members.values()].filter((member) => member.isRead);
  }

  private queueOf(key: string): Member[] {
    const queue = this.known.queues.get(key);
    if (!queue) throw new Unread('queue', key);
    return queue.map(({ id, lock }) =>
      Object.assign(this.member(id), { lock: { ...lock }, isOfQueue: key === this.known.own }),
    );
  }
}

class ReadQueues extends Map<string, LockedRow[]> {
  constructor(private readonly read: (key: string) => LockedRow[]) {
    super();
  }

  override get(key: string): LockedRow[] {
    const queue = super.get(key) ?? this.read(key);
    this.set(key, queue);
    return queue;
  }

  override delete(key: string): boolean {
    this.set(key, []);
    return true;
  }
}

/** A saga that the rules look at if they have to. */
export class Member implements LockedRow {
  lock?: RowLock;
  left?: RowLock;
  /** The saga is, or was, in the queue that is asked about. */
  isOfQueue = false;
  wasDueAt: number | undefined;
  private copy: LockedRow['saga'] | undefined;

  constructor(
    readonly id: string,
    private readonly known: Known,
  ) {}

  get isRead(): boolean {
    return this.copy !== undefined;
  }

  get saga(): LockedRow['saga'] {
    if (this.copy) return this.copy;
    const { saga } = rowOf(this.known, this.id)!;
    // One that waits is not due, though its object may not have stored that yet.
    this.wasDueAt = this.lock?.state === 'waiting' ? undefined : saga.dueAt;
    this.copy = { ...saga, dueAt: this.wasDueAt, deadlock: undefined };
    return this.copy;
  }
}

/** The sagas that a step has started are named in its state. */
class Families extends MemoryFamilies {
  constructor(private readonly view: View) {
    super({ get: (id) => view.get(id), values: () => [].values() });
  }

  override children({ saga }: LockedRow): LockedRow[] {
    return [...saga.state.steps.values()]
      .flatMap(({ child }) => (child ? (this.view.get(child.id) ?? []) : []))
      .filter((row) => row.saga.parent?.id === saga.id && isLinked(row));
  }
}

function rowOf({ rows }: Known, id: string): LockedRow | undefined {
  if (!rows.has(id)) throw new Unread('row', id);
  return rows.get(id);
}

/** A saga whose object is about to store it. */
function arriving({ queues }: Known, id: string): LockedRow | undefined {
  for (const [key, queue] of queues) {
    const queued = queue.find((one) => one.id === id);
    if (queued) return unstored((JSON.parse(key) as [string])[0], queued);
  }
  return undefined;
}

export function unstored(name: string, { id, lock, dueAt }: QueuedSaga): LockedRow {
  return { saga: { id, name, dueAt, state: INITIAL } as unknown as LockedRow['saga'], lock };
}

export function knownOf(key: string, queue: readonly QueuedSaga[]): Known {
  return { own: key, rows: new Map(), queues: new Map([[key, queue]]) };
}
