import {
  implement,
  type ObjectContext,
  type ObjectSharedContext,
  SendOpts,
  TimeoutError,
} from '@restatedev/restate-sdk';
import {
  type Checkpoint,
  type Claim,
  type LockedRow,
  type MemoryRow,
  MemorySagaStore,
  type NewSaga,
  queueKey,
  type StartResult,
  type StoredStepPause,
  toExisting,
  type WakeupMessage,
  withStarted,
} from 'nestjs-durable-saga/internal/backend';
import {
  ALL,
  type Caller,
  type ChangeAnswer,
  type ChangeCall,
  CORRELATION,
  correlationKey,
  GRAPHS,
  HINTS,
  type KeptPauses,
  LOCK,
  messageKey,
  MESSAGES,
  PAUSES,
  pauseKey,
  type Register,
  SAGA,
  SAGA_SLOTS,
  SCHEDULE,
  type StartCall,
} from './contracts.js';
import {
  addGraphs,
  changed,
  type Changed,
  dueAtOf,
  hasRunOut,
  type KeptSaga,
  newsOf,
  NOBODY,
  overdueAtOf,
} from './kept-saga.js';
import { limitObject } from './limit-object.js';
import { circlesObject, lockedPart, lockObject } from './lock-object.js';
import { messageObject, type SendMessage } from './message-object.js';
import { OPTIONS } from './object-options.js';
import { type Arrived, type LockAnswer, LockQuestion } from './own-lock.js';
import { sagaSlotsObject } from './saga-slots-object.js';
import { textOf } from './stored-text.js';

/** Hints that are kept for a worker that does not listen at the moment. */
const HINTS_KEPT = 100;
const LISTENS_FOR = { seconds: 30 };

/** What an object lets the process know in which it happens to run. */
export interface News {
  readonly now: number;
  /** A saga that is due. */
  readonly due?: MemoryRow;
  /** A saga that is past its `sla`. */
  readonly overdue?: MemoryRow;
  readonly hints: readonly Hint[];
}

export interface Hint {
  readonly worker: string;
  readonly message: WakeupMessage;
}

/** What the process knows of that. */
export interface NewsTaken {
  /** After how long (ms) what is due or overdue is news again, perhaps to another process. */
  readonly again: number;
  /** The hints that are for other processes. */
  readonly others: readonly Hint[];
}

/** Takes what is new. The same may come again, and may not be stored in the end. */
export type TakeNews = (news: News) => NewsTaken;

/**
 * The objects that Restate calls in this process.
 * @param send gives a message to the broker
 * @param clock the time (milliseconds since the epoch)
 */
export function objectsOf(take: TakeNews, send: SendMessage, clock: () => number) {
  const saga = implement(SAGA, {
    options: OPTIONS,
    handlers: {
      change: async (ctx, call): Promise<ChangeAnswer> => {
        const kept = await keptOf(ctx);
        if (call.revision !== undefined && call.revision !== kept?.revision) return undefined;
        const { slot } = call;
        const isLate = slot && (slot.epoch !== kept?.row.saga.epoch || (await ctx.date.now()) > slot.until);
        if (isLate) return undefined;
        const pauses = await pausesOf(ctx, kept, call);
        const arrived = kept ? undefined : await arrivedBy(ctx, call);
        const hadLock = kept?.row.lock !== undefined;
        const made = async (store: MemorySagaStore): Promise<unknown> => {
          await addGraphs(store, call.graphs ?? []);
          const method = store[call.method] as (...args: readonly unknown[]) => Promise<unknown>;
          return method.apply(store, argumentsOf(call));
        };
        const run = (row: MemoryRow | undefined, enqueued?: LockAnswer) =>
          changed(row, call.now, made, { pauses, lock: { arrived, enqueued } });
        const change = await run(kept?.row).catch(async (error: unknown) => {
          if (!(error instanceof LockQuestion)) throw error;
          const { row } = error;
          const asked = { row: lockedPart(row), now: call.now };
          const enqueued = await ctx.client(LOCK, keyOfLock(row)!).enqueue(asked);
          return run((await keptOf(ctx))!.row, enqueued);
        });
        const isTaken = call.method === 'claim' && (change.result as Claim).sagas.length > 0;
        await keep(ctx, kept, change, { ...call, claim: isTaken ? call.claim : undefined });
        const { row } = change;
        if (row && kept && mayHaveLeft(call, hadLock, row))
          await ctx.client(LOCK, keyOfLock(row)!).settle({ row: lockedPart(row), now: call.now });
        return { result: change.result };
      },
      add: async (ctx, { row, now }) => {
        if (await keptOf(ctx)) return;
        const { saga, lock } = row;
        if (lock) {
          const call = { id: saga.id, lock, dueAt: saga.dueAt ?? now, now };
          const arrived = await ctx.client(LOCK, keyOfLock(row)!).arrive(call);
          lock.place = (arrived as { readonly place: number }).place;
        }
        await put(ctx, { row, revision: 1, watchers: [] }, now);
      },
      wake: async (ctx, { now, since = now }) => {
        const kept = await keptOf(ctx);
        if (!kept) return;
        const change = await changed(kept.row, now, async (store) => store.wake(ctx.key, since));
        await keep(ctx, kept, change, { now });
      },
      fence: async (ctx, { epoch, now }) => {
        const kept = await keptOf(ctx);
        if (kept?.row.saga.epoch === epoch && hasRunOut(kept.row, now))
          replace(ctx, kept, { epoch: epoch + 1 });
      },
      unclaim: async (ctx, { claim, now }) => {
        const kept = await keptOf(ctx);
        const { lockedBy, epoch } = kept?.row.saga ?? {};
        if (!kept || kept.claim !== claim || lockedBy === undefined) return;
        const held = { id: ctx.key, epoch: epoch! };
        const change = await changed(kept.row, now, (store) =>
          store.giveBack([held], { worker: lockedBy, duration: 0 }, 0),
        );
        await keep(ctx, kept, change, { now });
      },
      look: async (ctx, { at }) => {
        const kept = await keptOf(ctx);
        if (kept?.looksAt === at) await put(ctx, { ...kept, looksAt: undefined }, at);
      },
      offer: async (ctx, { now }) => {
        const kept = await keptOf(ctx);
        if (kept) await put(ctx, { ...kept, looksAt: undefined }, now);
      },
      keepGraph: async (ctx, graphRevision) => {
        const kept = await keptOf(ctx);
        if (kept) replace(ctx, kept, { graphRevision });
      },
      resumeStep: async (ctx, { pause, now }) => {
        const kept = await keptOf(ctx);
        if (!kept) return;
        const change = await changed(kept.row, now, (store) => store.pauses.wake(pause), {
          pauses: [pause],
        });
        await keep(ctx, kept, change, { now });
      },
      remove: async (ctx) => ctx.clearAll(),
      read: keptOf,
    },
  });

  const correlation = implement(CORRELATION, {
    options: OPTIONS,
    handlers: {
      start: async (ctx, call) => {
        const id = await ctx.get('id', textOf<string>());
        if (id !== null && id !== call.saga.id) {
          const kept = await ctx.client(SAGA, id).read();
          if (kept) return { result: [{ created: false, existing: toExisting(kept.row) }] };
        }
        const answer = await ctx.client(SAGA, call.saga.id).change(changeOf(call));
        if (startResult(answer).created) ctx.set('id', call.saga.id, textOf<string>());
        return answer;
      },
      add: async (ctx, child) => {
        if ((await ctx.get('id', textOf<string>())) !== null) return;
        const { id } = child.row.saga;
        ctx.set('id', id, textOf<string>());
        await ctx.client(SAGA, id).add(child);
      },
      remove: async (ctx, id) => {
        if ((await ctx.get('id', textOf<string>())) === id) ctx.clearAll();
      },
      read: async (ctx) => (await ctx.get('id', textOf<string>())) ?? undefined,
    },
  });

  const hints = implement(HINTS, {
    options: OPTIONS,
    handlers: {
      put: async (ctx, message) => {
        const listener = await ctx.get('listener', textOf<string>());
        if (listener !== null) {
          ctx.clear('listener');
          return ctx.resolveAwakeable(listener, [message], textOf<readonly WakeupMessage[]>());
        }
        const queue = (await ctx.get('queue', textOf<WakeupMessage[]>())) ?? [];
        ctx.set('queue', [...queue, message].slice(-HINTS_KEPT), textOf<WakeupMessage[]>());
      },
      listen: async (ctx, listener) => {
        const queue = await ctx.get('queue', textOf<WakeupMessage[]>());
        if (!queue) return ctx.set('listener', listener, textOf<string>());
        ctx.clear('queue');
        ctx.resolveAwakeable(listener, queue, textOf<readonly WakeupMessage[]>());
      },
      take: async (ctx) => {
        const { id, promise } = ctx.awakeable(textOf<readonly WakeupMessage[]>());
        ctx.sendClient(HINTS, ctx.key).listen(id);
        try {
          return await promise.orTimeout(LISTENS_FOR);
        } catch (error) {
          if (error instanceof TimeoutError) return [];
          throw error;
        }
      },
      remove: async (ctx) => {
        const listener = await ctx.get('listener', textOf<string>());
        if (listener !== null) ctx.resolveAwakeable(listener, [], textOf<readonly WakeupMessage[]>());
        ctx.clearAll();
      },
    },
  });

  const schedule = implement(SCHEDULE, {
    options: OPTIONS,
    handlers: {
      edit: async (ctx, { revision, edit, now, worker }) => {
        const before = await registerOf<ReturnType<typeof withStarted>>(ctx);
        if ((before?.revision ?? 0) !== revision) return undefined;
        const start = edit.start && (await startedBy(ctx, { saga: edit.start, lease: NOBODY, now, worker }));
        const value = withStarted(edit.schedule, start, before?.value);
        ctx.set('register', { revision: revision + 1, value }, textOf<Register<unknown>>());
        return { schedule: value, ...(start && { start }) };
      },
      read: registerOf,
    },
  });

  const graphs = implement(GRAPHS, {
    options: OPTIONS,
    handlers: {
      write: async (ctx, { revision, value }) => {
        const before = await registerOf(ctx);
        if ((before?.revision ?? 0) !== revision) return false;
        ctx.set('register', { revision: revision + 1, value }, textOf<Register<unknown>>());
        return true;
      },
      read: registerOf,
    },
  });

  const pauses = implement(PAUSES, {
    options: OPTIONS,
    handlers: {
      change: async (ctx, { method, step, who, now }) => {
        const before = await keptPauses(ctx);
        const store = new MemorySagaStore({ now: () => now, pauses: before.pauses });
        await store.pauses[method](step, who);
        keepPauses(ctx, { ...before, pauses: store.pauses.stored });
      },
      rest: async (ctx, { id, saga, steps }) => {
        const before = await keptPauses(ctx);
        const by = before.pauses.filter(
          (pause) => pause.saga === saga && steps.includes(pause.step) && !pause.resumed,
        );
        const resting = new Map(before.resting);
        for (const key of by.map(pauseKey)) resting.set(key, [...new Set([...(resting.get(key) ?? []), id])]);
        keepPauses(ctx, { ...before, resting });
        return by;
      },
      over: async (ctx, keys) => {
        const before = await keptPauses(ctx);
        const resting = new Map([...before.resting].filter(([key]) => !keys.includes(key)));
        const pauses = before.pauses.map((pause) =>
          keys.includes(pauseKey(pause)) ? { ...pause, isOver: true } : pause,
        );
        keepPauses(ctx, { pauses, resting });
      },
      read: keptPauses,
    },
  });

  /** Stores what a change has led to, and lets others know. */
  async function keep(
    ctx: ObjectContext,
    before: KeptSaga | undefined,
    { row, holder, children, parent, messages, published }: Changed<unknown>,
    { now, method, worker, slot, claim }: Pick<Caller, 'now'> & Partial<ChangeCall>,
  ): Promise<void> {
    if (!row) return;
    let watchers = before?.watchers ?? [];
    if (method === 'watch' && row.watched) watchers = [...new Set([...watchers, worker!])];
    const hints = messages.flatMap((message): Hint | Hint[] => {
      if (message.type === 'look') return holder === undefined ? [] : { worker: holder, message };
      // The worker took a step for paused that is not any more.
      if (message.type === 'pauses') return worker === undefined ? [] : { worker, message };
      return message.type === 'settled' ? watchers.map((watcher) => ({ worker: watcher, message })) : [];
    });
    if (messages.some(({ type }) => type === 'settled')) watchers = [];
    for (const child of children) {
      const { id, name, correlationId } = child.saga;
      if (correlationId === undefined) await ctx.client(SAGA, id).add({ row: child, now });
      else await ctx.client(CORRELATION, correlationKey(name, correlationId)).add({ row: child, now });
    }
    const revision = (before?.revision ?? 0) + 1;
    const isLeased = row.saga.lockedBy !== undefined;
    const slots = isLeased ? (slot?.key ?? before?.slots) : undefined;
    const own = { slots, claim: isLeased ? (claim ?? before?.claim) : undefined };
    await put(ctx, { row, revision, watchers, looksAt: before?.looksAt, ...own }, now, hints);
    if (before?.slots !== undefined && !isLeased)
      ctx.sendClient(SAGA_SLOTS, before.slots).free({ id: ctx.key, now });
    for (const message of published) ctx.sendClient(MESSAGES, messageKey(message)).send(message);
    // It finds that this one has ended. None of these calls another saga, so that no two wait for each other.
    if (parent !== undefined) await ctx.client(SAGA, parent).wake({ now });
  }

  /** A call may be made long after it was sent: what is news again is so much later. */
  function takeNow(news: Omit<News, 'now'>, now: number): NewsTaken {
    const late = Math.max(0, clock() - now);
    const { again, others } = take({ ...news, now: now + late });
    return { again: late + again, others };
  }

  /** Stores a saga, and sees to it that it is looked at once there is something to do. */
  async function put(
    ctx: ObjectContext,
    kept: KeptSaga,
    now: number,
    hints: readonly Hint[] = [],
  ): Promise<void> {
    const { row } = kept;
    // Those who learn of it may read it at once.
    ctx.set('saga', kept, textOf<KeptSaga>());
    const [dueAt, overdueAt] = [dueAtOf(row) ?? Infinity, overdueAtOf(row) ?? Infinity];
    const news = { ...newsOf(row, now), hints };
    const isNews = news.due !== undefined || news.overdue !== undefined || hints.length > 0;
    // What the process says is journaled: another one may go on from here.
    const taken = isNews
      ? await ctx.run('news', () => takeNow(news, now), { serde: textOf<NewsTaken>() })
      : undefined;
    for (const { worker, message } of taken?.others ?? []) ctx.sendClient(HINTS, worker).put(message);
    const next = Math.min(...[dueAt, overdueAt].map((at) => (at <= now ? now + taken!.again : at)));
    const isSooner = next < (kept.looksAt ?? Infinity);
    if (!isSooner) return;
    // A call may be made long after it was sent. That a repetition of it has another delay is no difference to Restate.
    const delay = Math.max(0, next - Math.max(now, clock()));
    ctx.sendClient(SAGA, ctx.key).look({ at: next }, SendOpts.from({ delay }));
    ctx.set('saga', { ...kept, looksAt: next }, textOf<KeptSaga>());
  }

  return [
    saga,
    correlation,
    hints,
    schedule,
    graphs,
    pauses,
    limitObject(),
    lockObject(),
    circlesObject(),
    messageObject(send),
    sagaSlotsObject(),
  ];
}

/** The pauses for which a saga comes to rest by a checkpoint, where it is entered, so that it is found once they are over. */
async function pausesOf(
  ctx: ObjectContext,
  kept: KeptSaga | undefined,
  { method, args }: ChangeCall,
): Promise<readonly StoredStepPause[] | undefined> {
  if (method !== 'checkpoint' || !kept) return undefined;
  const [[{ heldBy = [] }]] = args as [[Checkpoint]];
  const { id, name } = kept.row.saga;
  return heldBy.length > 0 ? ctx.client(PAUSES, ALL).rest({ id, saga: name, steps: heldBy }) : undefined;
}

/** A new saga takes its place in the queue of its lock before it is stored. */
async function arrivedBy(
  ctx: ObjectContext,
  { method, args, now }: ChangeCall,
): Promise<Arrived | undefined> {
  if (method !== 'start') return undefined;
  const [[saga]] = args as [[NewSaga]];
  const { id, name, lockKey: key, lockRejects: rejects, timeout, delay = 0, startAt = now + delay } = saga;
  if (key === undefined) return undefined;
  const lock = { key, state: 'arriving', place: 0, timeout } as const;
  const dueAt = Math.max(now, startAt);
  return ctx.client(LOCK, queueKey(name, key)).arrive({ id, lock, dueAt, rejects, now });
}

/** An operator may have let others come first. */
function mayHaveLeft({ method }: ChangeCall, hadLock: boolean, { lock }: MemoryRow): boolean {
  if (method === 'edit') return hadLock || lock !== undefined;
  return method === 'checkpoint' && hadLock && lock === undefined;
}

function keyOfLock({ saga, lock, left }: LockedRow): string | undefined {
  const { key } = lock ?? left ?? {};
  return key === undefined ? undefined : queueKey(saga.name, key);
}

/** `edit` takes a function: what it returns was decided by the caller, for this revision. */
function argumentsOf({ method, args }: ChangeCall): unknown[] {
  return method === 'edit' ? [args[0], () => args[1]] : [...args];
}

function changeOf({ saga, lease, now, worker }: StartCall): ChangeCall {
  return { method: 'start', args: [[saga], lease], now, worker };
}

async function startedBy(ctx: ObjectContext, call: StartCall): Promise<StartResult> {
  const { id, name, correlationId } = call.saga;
  const answer = await (correlationId === undefined
    ? ctx.client(SAGA, id).change(changeOf(call))
    : ctx.client(CORRELATION, correlationKey(name, correlationId)).start(call));
  return startResult(answer);
}

function startResult(answer: ChangeAnswer): StartResult {
  return (answer!.result as readonly StartResult[])[0]!;
}

async function keptOf(ctx: ObjectSharedContext): Promise<KeptSaga | undefined> {
  return (await ctx.get('saga', textOf<KeptSaga>())) ?? undefined;
}

/** Stores values of a saga by which nothing becomes due. */
function replace(ctx: ObjectContext, kept: KeptSaga, values: Partial<MemoryRow['saga']>): void {
  const row = { ...kept.row, saga: { ...kept.row.saga, ...values } };
  ctx.set('saga', { ...kept, row, revision: kept.revision + 1 }, textOf<KeptSaga>());
}

async function keptPauses(ctx: ObjectSharedContext): Promise<KeptPauses> {
  return (await ctx.get('pauses', textOf<KeptPauses>())) ?? { pauses: [], resting: new Map() };
}

function keepPauses(ctx: ObjectContext, pauses: KeptPauses): void {
  ctx.set('pauses', pauses, textOf<KeptPauses>());
}

async function registerOf<T>(ctx: ObjectSharedContext): Promise<Register<T> | undefined> {
  return (await ctx.get('register', textOf<Register<T>>())) ?? undefined;
}
