import { implement, type ObjectContext, type ObjectSharedContext } from '@restatedev/restate-sdk';
import {
  type LockDeadlock,
  type LockedRow,
  type MemoryLockQueues,
  queueKey,
  type RowLock,
} from 'nestjs-durable-saga/internal/backend';
import { ALL, CIRCLES, LOCK, type LockCall, type QueuedSaga, SAGA } from './contracts.js';
import { timeOf } from './latest-time.js';
import { decided, knownOf, type Member, unstored } from './lock-view.js';
import { OPTIONS } from './object-options.js';
import { textOf } from './stored-text.js';

interface KeptLock {
  readonly queue: readonly QueuedSaga[];
  /** Sagas that fail once a worker takes them, and have left the queue. */
  readonly failing: ReadonlyMap<string, { readonly deadlock: LockDeadlock; readonly left: RowLock }>;
}

/**
 * The object of a semantic lock. It says who has the lock: the object of a saga asks it, and keeps the answer. It wakes sagas by
 * messages, so that no two objects wait for each other.
 */
export function lockObject() {
  return implement(LOCK, {
    options: OPTIONS,
    handlers: {
      arrive: async (ctx, { id, lock, dueAt, rejects, now: asked }) => {
        const [name, key] = JSON.parse(ctx.key) as [string, string];
        const row = unstored(name, { id, lock, dueAt });
        return change(ctx, { row, now: asked }, (queues, own, now) => {
          const holder = rejects ? queues.holderOf(name, key, now) : undefined;
          if (holder !== undefined) return { holder };
          own.lock = { ...lock };
          queues.arrive(own);
          return { place: own.lock.place };
        });
      },
      enqueue: async (ctx, { row, now: asked }) => {
        const { id, parent } = row.saga;
        const kept = await keptOf(ctx);
        const failing = kept.failing.get(id);
        if (failing) {
          keep(ctx, { ...kept, failing: without(kept.failing, id) });
          return { runs: true, ...failing };
        }
        const answer = await change(ctx, { row, now: asked }, (queues, own, now) => {
          if (!own.lock) {
            own.lock = { ...row.lock! };
            queues.arrive(own);
          }
          const runs = queues.enqueue(own, now);
          const { lock, left, saga } = own;
          const { dueAt, deadlock } = saga;
          // It may have had the lock since a moment ago: its time begins as it learns of it.
          const deadline = runs && lock?.timeout !== undefined ? now + lock.timeout : undefined;
          return { runs, lock, left, dueAt, deadlock, deadline };
        });
        // What another lock has decided at the same moment is not known.
        if (!answer.runs && parent) ctx.sendClient(CIRCLES, ALL).look({ key: ctx.key, id, now: asked });
        return answer;
      },
      settle: async (ctx, call) => {
        const { row } = call;
        const kept = await keptOf(ctx);
        const { id, name, state } = row.saga;
        const failing = kept.failing.get(id);
        const isUndone = state.status === 'compensating';
        if (failing && row.lock && !isUndone) return;
        if (failing) keep(ctx, { ...kept, failing: without(kept.failing, id) });
        await change(ctx, call, (queues, own, now) => {
          if (own.lock && !row.lock) queues.remove(own, now);
          else if (!own.lock && row.lock) queues.rejoin(own);
          queues.handOver(name, (row.lock ?? row.left)!.key, now);
        });
      },
      fail: async (ctx, { id, deadlock, now }) => {
        const { queue, failing } = await keptOf(ctx);
        const waiting = queue.find((one) => one.id === id && one.lock.state === 'waiting');
        if (!waiting) return;
        keep(ctx, {
          queue: queue.filter((one) => one !== waiting),
          failing: new Map(failing).set(id, { deadlock, left: waiting.lock }),
        });
        ctx.sendClient(SAGA, id).wake({ now });
      },
      holder: async (ctx, { id, now }) => {
        const { queue } = await keptOf(ctx);
        const own = queue.find((one) => one.id === id);
        if (!own || own.lock.state === 'held' || own.lock.state === 'inside')
          return { held: own !== undefined };
        const known = knownOf(ctx.key, queue);
        const holder = await decided(
          ctx,
          known,
          (queues, view) => queues.holderFor(view.member(id), now),
          now,
        );
        return { held: false, holder: holder.result };
      },
      read: async (ctx) => (await keptOf(ctx)).queue,
    },
  });
}

/** Looks for circles that were closed by several locks at the same moment: for one after the other, so that one saga of each fails. */
export function circlesObject() {
  return implement(CIRCLES, {
    options: OPTIONS,
    handlers: {
      look: async (ctx, { key, id, now }) => {
        const queue = await ctx.client(LOCK, key).read();
        if (!queue.some((one) => one.id === id && one.lock.state === 'waiting')) return;
        const { view } = await decided(
          ctx,
          knownOf(key, queue),
          (queues, seen) => queues.enqueue(seen.member(id), now),
          now,
        );
        for (const { id: failing, saga, left } of view.read) {
          const { deadlock, name } = saga;
          if (deadlock && left)
            await ctx.client(LOCK, queueKey(name, left.key)).fail({ id: failing, deadlock, now });
        }
      },
    },
  });
}

/** What of a saga is sent to the object of its lock. */
export function lockedPart({ saga, lock, left }: LockedRow): LockedRow {
  const { id, name, parent, dueAt, state } = saga;
  const steps = [...state.steps].filter(([, step]) => step.child);
  const part = { id, name, parent, dueAt, state: { ...state, steps: new Map(steps) } };
  return { saga: part as unknown as LockedRow['saga'], lock, left };
}

/** Changes the queue by the rules. Who is affected learns of it by a message. */
async function change<T>(
  ctx: ObjectContext,
  { row, now: asked }: LockCall,
  work: (queues: MemoryLockQueues, own: LockedRow, now: number) => T,
): Promise<T> {
  const now = await timeOf(ctx, asked);
  const { queue } = await keptOf(ctx);
  const { id } = row.saga;
  const known = knownOf(ctx.key, queue);
  known.rows.set(id, row);
  const { result, view } = await decided(
    ctx,
    known,
    (queues, seen) => {
      const own = seen.member(id);
      own.left ??= row.left;
      return work(queues, own, now);
    },
    now,
  );
  const dueAt = new Map(queue.map((one) => [one.id, one.dueAt])).set(id, row.saga.dueAt ?? now);
  const { failing } = await keptOf(ctx);
  const failed = new Map(failing);
  for (const { id: other, saga, left, wasDueAt, isOfQueue } of view.read) {
    if (other === id) continue;
    const { deadlock } = saga;
    if (deadlock && left && saga.dueAt !== wasDueAt) {
      if (isOfQueue) failed.set(other, { deadlock, left });
      else ctx.sendClient(LOCK, queueKey(saga.name, left.key)).fail({ id: other, deadlock, now });
    }
    if (saga.dueAt !== wasDueAt) ctx.sendClient(SAGA, other).wake({ now: asked });
  }
  const after = view.queues.get(ctx.key)!.map((one) => {
    const { id: place } = one as Member;
    return { id: place, lock: one.lock!, dueAt: dueAt.get(place)! };
  });
  keep(ctx, { queue: after, failing: failed });
  return result;
}

function without<T>(map: ReadonlyMap<string, T>, key: string): ReadonlyMap<string, T> {
  return new Map([...map].filter(([other]) => other !== key));
}

async function keptOf(ctx: ObjectSharedContext): Promise<KeptLock> {
  return (await ctx.get('lock', textOf<KeptLock>())) ?? { queue: [], failing: new Map() };
}

function keep(ctx: ObjectContext, kept: KeptLock): void {
  if (kept.queue.length + kept.failing.size > 0) ctx.set('lock', kept, textOf<KeptLock>());
  else ctx.clearAll();
}
