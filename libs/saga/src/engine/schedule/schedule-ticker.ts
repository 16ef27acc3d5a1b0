import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import type { SagaSchedule } from '../../definition/options/schedule-options.js';
import { SagaConflictError, SagaStateError } from '../../errors.js';
import type { Clock, Timer } from '../../shared/clock.js';
import { isolated } from '../../shared/own-context.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import { newSagaOf } from '../operate/new-saga.js';
import { lockKeyOf } from '../payload/start-keys.js';
import { encodePayload } from '../payload/payload.js';
import { serializeError } from '../payload/serialize-error.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaDefinitions } from '../ports/saga-definitions.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { NewSaga } from '../ports/stored-saga.js';
import type { ScheduleEdit, ScheduleEdited, StoredSchedule } from '../ports/stored-schedule.js';
import type { StoreRetry } from '../write/store-retry.js';
import { dueTicks, isSameTimes } from './decide-ticks.js';

/** A tick that failed is tried again after this time (ms). */
const AFTER_FAILURE = 30_000;
/** Milliseconds until a tick is tried again if the database cannot be reached. */
const AFTER_OUTAGE = 1_000;
/** Milliseconds for which the input of a schedule is waited for. */
const INPUT_MAX_WAIT_MS = 30_000;
/** Schedules are looked at this often (ms) at least: the machine may have slept, and clocks may have been set. */
const LONGEST_WAIT = 60_000;
/** A tick that the database's clock has not reached yet is looked at again after this time (ms). */
const AGAIN_AFTER = 10;
/** The semantic lock of the sagas of a schedule with `overlap: 'queue'`. */
const QUEUE_KEY = 'schedule';

/** A saga with a schedule. */
export type ScheduledGraph = SagaGraph & { readonly schedule: SagaSchedule };

export interface ScheduleTickerPorts {
  readonly store: Pick<SagaStore, 'schedules' | 'editSchedule' | 'isOutage'>;
  readonly retry: Pick<StoreRetry, 'run' | 'failed'>;
  readonly observers: Pick<SagaObservers, 'start'>;
  readonly definitions: Pick<SagaDefinitions, 'checked'>;
  readonly clock: Clock;
  readonly storeClock: Pick<StoreClock, 'now' | 'observe'>;
  readonly newId: () => string;
  readonly maxPayloadBytes: number;
  readonly log: EngineLog;
}

/**
 * Starts the sagas of this process that have a schedule. Each process knows when the next tick is due and asks the store
 * only then. There, the tick is decided under the lock of the schedule's row, and its saga is stored in the same
 * transaction: one process starts it, and the others find it decided. The correlation id, which contains the tick, keeps
 * that promise also if the row is lost.
 */
export class ScheduleTicker {
  private readonly graphs: ReadonlyMap<string, ScheduledGraph>;
  /** When each is looked at next. */
  private readonly dueAt = new Map<string, number>();
  /** The schedules that are being looked at. */
  private readonly working = new Map<string, Promise<void>>();
  private timer: Timer | undefined;
  private lookedAt = -Infinity;
  private closed = false;
  private close!: () => void;
  private readonly closing = new Promise<void>((resolve) => (this.close = resolve));

  constructor(
    graphs: readonly SagaGraph[],
    private readonly ports: ScheduleTickerPorts,
  ) {
    this.graphs = new Map(scheduled(graphs).map((graph) => [graph.name, graph]));
  }

  /** From now on by itself. Nothing happens, and nothing is asked, if no saga has a schedule. */
  start(): void {
    if (this.graphs.size === 0) return;
    for (const name of this.graphs.keys()) this.dueAt.set(name, -Infinity);
    this.arm();
  }

  /** Afterwards no tick is in progress. */
  async stop(): Promise<void> {
    this.closed = true;
    this.close();
    this.ports.clock.cancel(this.timer);
    await Promise.all(this.working.values());
  }

  /** Starts a saga now, beside the ticks. @throws SagaStateError if the last one has not ended and `overlap` is 'skip' */
  async trigger(graph: ScheduledGraph): Promise<string> {
    const { storeClock, observers, retry, store } = this.ports;
    const start = await this.sagaFor(graph, { at: storeClock.now(), triggered: true });
    const { id } = start;
    await retry.run(() => this.define(graph, Infinity));
    const started = await observers.start(start, (traced) =>
      retry.run(async () => {
        const edited = await store.editSchedule(graph.name, (stored, now) => {
          // Its answer was lost.
          if (stored!.last?.id === id) return undefined;
          if (overlaps(graph, stored!)) throw stillRuns(stored!);
          const last = { id, at: now, triggered: true };
          return { schedule: { ...stored!, last }, start: { ...traced, leased: false } };
        });
        return edited?.start ?? { created: true, leased: false, now: storeClock.now() };
      }),
    );
    if (!started.created && !started.existing) throw isLocked(graph, start.lockKey, started.lockHolder);
    return id;
  }

  private arm(): void {
    const { clock, storeClock } = this.ports;
    clock.cancel(this.timer);
    if (this.closed) return;
    const next = [...this.dueAt].flatMap(([name, at]) => (this.working.has(name) ? [] : [at]));
    const wait = Math.min(...next, Infinity) - storeClock.now();
    this.timer = clock.after(Math.min(Math.max(wait, 0), LONGEST_WAIT), () => {
      this.look();
      this.arm();
    });
    this.timer.unref();
  }

  /** Looks at those that are due. One that takes its time holds no other back. */
  private look(): void {
    const now = this.ports.storeClock.now();
    // The clock was set back: what is due next is not what it was.
    if (now < this.lookedAt) for (const name of this.dueAt.keys()) this.dueAt.set(name, now);
    this.lookedAt = now;
    const due = [...this.dueAt].filter(([name, at]) => at <= now && !this.working.has(name));
    if (due.length === 0) return;
    const names = due.map(([name]) => name).sort();
    const reading = this.read();
    reading.catch((error: unknown) => this.failed(names, error, 'Schedules could not be read'));
    for (const name of names) {
      const work = reading.then(
        (stored) => this.decideAll(this.graphs.get(name)!, stored.get(name)),
        () => undefined,
      );
      const ended = work.finally(() => {
        this.working.delete(name);
        this.arm();
      });
      this.working.set(name, ended);
    }
  }

  private async read(): Promise<Map<string, StoredSchedule>> {
    const { store, clock, storeClock } = this.ports;
    const sentAt = clock.monotonic();
    const { schedules, now } = await store.schedules();
    storeClock.observe(now, sentAt);
    return new Map(schedules.map((one) => [one.saga, one]));
  }

  /** Decides all ticks of one saga that are due. */
  private async decideAll(graph: ScheduledGraph, stored: StoredSchedule | undefined): Promise<void> {
    const { name } = graph;
    try {
      let known: StoredSchedule | undefined = await this.define(graph, this.dueAt.get(name)!, stored);
      while (known && !this.closed) known = await this.decideNext(graph, known);
    } catch (error) {
      this.failed([name], error, `The schedule of '${name}' failed`);
    }
  }

  /**
   * Stores the schedule as this process has it, unless it is stored so.
   * @param since the tick for which this process looks; -Infinity: it has just begun
   */
  private async define(
    graph: ScheduledGraph,
    since: number,
    stored?: StoredSchedule,
  ): Promise<StoredSchedule> {
    if (stored && isAsDefined(graph, stored)) return stored;
    const { name, schedule } = graph;
    let known: StoredSchedule | undefined;
    await this.ports.store.editSchedule(name, (before, now) => {
      if (before && isAsDefined(graph, before)) {
        known = before;
        return undefined;
      }
      const from = since === -Infinity ? now : Math.min(now, since - 1);
      known = before ? redefined(schedule, before, from) : newSchedule(graph, now);
      return { schedule: known };
    });
    return known!;
  }

  /** Decides one tick. Undefined: nothing more is due. */
  private async decideNext(
    graph: ScheduledGraph,
    known: StoredSchedule,
  ): Promise<StoredSchedule | undefined> {
    const { storeClock, observers } = this.ports;
    const { name, schedule } = graph;
    const due = dueTicks(schedule, known, storeClock.now());
    this.dueAt.set(name, schedule.next(known.decidedUntil));
    if (!due) return undefined;
    const { tick } = due;
    let edited: ScheduleEdited | undefined;
    if (tick === undefined || overlaps(graph, known)) edited = await this.decide(graph, tick);
    else {
      const start = await this.sagaFor(graph, { at: tick, triggered: false });
      await observers.start(start, async (traced) => {
        edited = await this.decide(graph, tick, traced);
        return edited?.start ?? { created: false, existing: { id: start.id, name } };
      });
    }
    if (edited) return edited.schedule;
    const now = (await this.read()).get(name);
    if (now?.decidedUntil !== known.decidedUntil) return now;
    // It is not due by the database's clock, or not as it was a moment ago.
    this.dueAt.set(name, storeClock.now() + AGAIN_AFTER);
    return undefined;
  }

  /**
   * @param tick undefined: all that is due starts no saga
   * @param prepared the saga of the tick; undefined: an earlier one has not ended
   * @returns undefined: another process has decided it, or it is to be looked at again
   */
  private async decide(
    graph: ScheduledGraph,
    tick: number | undefined,
    prepared?: Omit<NewSaga, 'leased'>,
  ): Promise<ScheduleEdited | undefined> {
    const { store, clock, storeClock } = this.ports;
    const { name, schedule } = graph;
    const sentAt = clock.monotonic();
    let skippedFor: string | undefined;
    const edited = await store.editSchedule(name, (stored, now): ScheduleEdit | undefined => {
      skippedFor = undefined;
      storeClock.observe(now, sentAt);
      const due = stored && dueTicks(schedule, stored, now);
      if (!due || (due.tick !== undefined && due.tick !== tick)) return undefined;
      const decided = {
        ...stored,
        decidedUntil: due.decidedUntil,
        nextAt: schedule.next(due.decidedUntil),
      };
      if (due.tick === undefined) return { schedule: decided };
      if (overlaps(graph, stored)) {
        skippedFor = stored.last!.id;
        return { schedule: { ...decided, skippedAt: due.tick } };
      }
      if (!prepared) return undefined;
      const last = { id: prepared.id, at: due.tick, triggered: false };
      return { schedule: { ...decided, last }, start: { ...prepared, leased: false } };
    });
    const { start } = edited ?? {};
    if (edited && skippedFor !== undefined)
      this.warnSkipped(name, tick!, skippedFor, 'which it started before, has not ended');
    else if (start?.created === false && !start.existing)
      this.warnSkipped(
        name,
        tick!,
        start.lockHolder,
        "which has its lock (lockMode is 'reject'), has not ended",
      );
    return edited;
  }

  private warnSkipped(saga: string, tick: number, sagaId: string, which: string): void {
    const at = new Date(tick).toISOString();
    this.ports.log.warn(`The schedule of '${saga}' started no saga at ${at}: saga ${sagaId}, ${which}`, {
      sagaId,
      saga,
    });
  }

  private async sagaFor(
    graph: ScheduledGraph,
    { at, triggered }: { at: number; triggered: boolean },
  ): Promise<Omit<NewSaga, 'leased'>> {
    const { definitions, newId, maxPayloadBytes } = this.ports;
    const { schedule } = graph;
    const given = await this.settled(isolated(() => schedule.input?.({ at: new Date(at), triggered })));
    const input = graph.input === undefined ? given : await definitions.checked(graph, given);
    const text = encodePayload(input, 'input of the schedule', maxPayloadBytes);
    const saga = newSagaOf(
      graph,
      text,
      {
        ...{ id: newId(), fresh: true, priority: 0 },
        ...(!triggered && { correlationId: correlationIdOf(at) }),
        ...(graph.rejectsWhileLocked && { lockRejects: true as const }),
      },
      () => this.ports.storeClock.now(),
      await lockKeyOf(graph, text, undefined),
    );
    return schedule.overlap === 'queue' ? { ...saga, lockKey: QUEUE_KEY } : saga;
  }

  /** @throws an error if it does not settle in time, or before the process ends */
  private async settled(input: unknown): Promise<unknown> {
    const { clock } = this.ports;
    let timer: Timer | undefined;
    const late = new Promise<never>((_, reject) => {
      const giveUp = (what: string) => reject(new Error(`The input of the schedule did not settle ${what}`));
      timer = clock.after(INPUT_MAX_WAIT_MS, () => giveUp(`within ${INPUT_MAX_WAIT_MS / 1_000} s`));
      void this.closing.then(() => giveUp('before the process ended'));
    });
    try {
      return await Promise.race([input, late]);
    } finally {
      clock.cancel(timer);
    }
  }

  private failed(names: readonly string[], error: unknown, what: string): void {
    const { storeClock, log, store, retry } = this.ports;
    const isOutage = store.isOutage(error);
    const again = storeClock.now() + (isOutage ? AFTER_OUTAGE : AFTER_FAILURE);
    for (const name of names) this.dueAt.set(name, again);
    if (this.closed) return;
    if (isOutage) retry.failed(error);
    else log.error(`${what}; it is tried again after 30 s: ${serializeError(error).message}`);
  }
}

/** The correlation id of the saga that starts at a tick. */
export function correlationIdOf(tick: number): string {
  return `schedule:${new Date(tick).toISOString()}`;
}

/** Returns the highest version of each name, if that has a schedule. */
export function scheduled(graphs: readonly SagaGraph[]): ScheduledGraph[] {
  const latest = new Map<string, SagaGraph>();
  for (const graph of graphs)
    if ((latest.get(graph.name)?.version ?? 0) < graph.version) latest.set(graph.name, graph);
  return [...latest.values()].filter((graph): graph is ScheduledGraph => graph.schedule !== undefined);
}

function newSchedule({ name, schedule }: ScheduledGraph, now: number): StoredSchedule {
  return { saga: name, ...ruleOf(schedule), decidedUntil: now, nextAt: schedule.next(now) };
}

/** From another definition of the same schedule: what that had to decide up to then is decided. */
function redefined(schedule: SagaSchedule, before: StoredSchedule, from: number): StoredSchedule {
  const isMoved = !isSameTimes(schedule, before);
  const decidedUntil = isMoved ? Math.max(before.decidedUntil, from) : before.decidedUntil;
  return { ...before, ...ruleOf(schedule), decidedUntil, nextAt: schedule.next(decidedUntil) };
}

function ruleOf({ cron, timezone, overlap, catchUp }: SagaSchedule) {
  return { cron, timezone, overlap, catchUp };
}

function isAsDefined({ schedule }: ScheduledGraph, stored: StoredSchedule): boolean {
  const { overlap, catchUp } = schedule;
  return isSameTimes(schedule, stored) && overlap === stored.overlap && catchUp === stored.catchUp;
}

function overlaps({ schedule }: ScheduledGraph, { last }: StoredSchedule): boolean {
  return schedule.overlap === 'skip' && last?.status !== undefined;
}

function isLocked({ name }: ScheduledGraph, key: string | undefined, holder: string): SagaConflictError {
  return new SagaConflictError(
    `trigger(): the schedule of '${name}' starts no saga, because saga ${holder} has the lock '${key}', and lockMode is ` +
      `'reject'. Wait until that saga has ended, or cancel it.`,
    holder,
  );
}

function stillRuns({ saga, last }: StoredSchedule): SagaStateError {
  return new SagaStateError(
    `trigger(): the schedule of '${saga}' starts no saga, because saga ${last!.id}, which it started before, is ${last!.status}, ` +
      `and its overlap is 'skip'. Wait until that saga has ended, or cancel it.`,
  );
}
