import type { StepSlotStore } from '../../libs/saga/src/engine/ports/step-slots.js';
import type { EntityManager } from 'typeorm';
import type {
  AwaitedSignals,
  ClaimRequest,
  Edit,
  RateRequest,
  SagaStore,
  SeenSaga,
  StartResult,
  StepTransaction,
  StoreFilter,
  StoreTarget,
} from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Checkpoint, CheckpointResult } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { StoreTaskFilter } from '../../libs/saga/src/engine/ports/stored-task.js';
import type { StepPauseStore } from '../../libs/saga/src/engine/ports/step-pause.js';
import type { ChangeSchedule } from '../../libs/saga/src/engine/ports/stored-schedule.js';
import type {
  HeldLease,
  Lease,
  NewSaga,
  SentSignal,
  StoredSaga,
} from '../../libs/saga/src/engine/ports/stored-saga.js';
import { never } from '../../libs/saga/src/testing/test-process.js';
import { sessionOf } from '../models/transaction-model.js';
import type { Dice } from './rng.js';
import { Database, SimulatedTransaction } from './database.js';
import { ConnectionLost, type Link } from './link.js';
import type { Weather } from './scenario.js';
import type { Life, Timeline } from './timeline.js';

/** The operating system closes a silent connection after this time (ms). */
const SILENCE_TIMEOUT = 20_000;
/** A statement whose connection broke may still be executed, so much later (ms). */
const LATEST = 20_000;

export interface SendOptions {
  /** It may be executed after its connection broke. */
  readonly mayBeLate?: boolean;
  /** A part of it is done by the process itself. */
  readonly isInteractive?: boolean;
}

export interface StoreWorld {
  readonly timeline: Timeline;
  readonly database: Database;
  readonly weather: Weather;
}

/** The store as one process has it: every statement travels there and back, and may be lost on either way. */
export class SimulatedStore implements SagaStore {
  readonly stepSlots: StepSlotStore = {
    take: (...asked) =>
      this.send(() => this.world.database.store.stepSlots.take(...asked), { mayBeLate: true }),
    free: (...freed) =>
      this.send(() => this.world.database.store.stepSlots.free(...freed), { mayBeLate: true }),
    sweep: (sagas) => this.send(() => this.world.database.store.stepSlots.sweep(sagas)),
  };

  constructor(
    private readonly world: StoreWorld,
    private readonly worker: string,
    private readonly life: Life,
    private readonly link: Link,
    private readonly dice: Dice,
    private readonly call: () => boolean = () => life.call(),
  ) {}

  start(sagas: readonly NewSaga[], lease: Lease) {
    return this.send(() => this.world.database.start(sagas, lease), { mayBeLate: true });
  }

  startWithin(manager: EntityManager, saga: NewSaga, lease: Lease): Promise<StartResult> {
    return sessionOf(manager).statement((transaction) =>
      this.world.database.startWithin(transaction, saga, lease),
    );
  }

  checkpoint(checkpoints: readonly Checkpoint[]) {
    return this.send(() => this.world.database.checkpoint(checkpoints, this.worker), { mayBeLate: true });
  }

  /**
   * Until it is committed nothing of it is there; a process that dies, or loses its connection, rolls it
   * back.
   */
  async transact(work: (given: StepTransaction) => Promise<Checkpoint>): Promise<CheckpointResult> {
    const transaction = new SimulatedTransaction();
    await this.send(async () => undefined);
    const manager = Database.managerOf(transaction);
    const checkpoint = await work({ transaction: manager, manager });
    return this.send(() => this.world.database.commit(checkpoint, transaction, this.worker));
  }

  claim(request: ClaimRequest) {
    return this.send(() => this.world.database.claim(request), { mayBeLate: true });
  }

  giveBack(leases: readonly { readonly id: string; readonly epoch: number }[], lease: Lease, delay: number) {
    return this.send(() => this.world.database.giveBack(leases, lease, delay), { mayBeLate: true });
  }

  renew(leases: readonly HeldLease[], lease: Lease) {
    const { database } = this.world;
    const renewal = this.send(() => database.renew(leases, lease), { mayBeLate: true });
    renewal.catch(() => database.unanswered(leases));
    return renewal;
  }

  reserve(limit: RateRequest, attempts: number) {
    return this.send(() => this.world.database.store.reserve(limit, attempts), { mayBeLate: true });
  }

  load(target: StoreTarget) {
    return this.send(() => this.world.database.store.load(target));
  }

  find(filter: StoreFilter) {
    return this.send(() => this.world.database.store.find(filter));
  }

  tasks(filter: StoreTaskFilter) {
    return this.send(() => this.world.database.store.tasks(filter));
  }

  edit(target: StoreTarget, change: (saga: StoredSaga, now: number) => Edit | undefined) {
    return this.send(() => this.world.database.edit(target, change), { isInteractive: true });
  }

  catchUp(sagas: Parameters<SagaStore['catchUp']>[0]) {
    return this.send(() => this.world.database.store.catchUp(sagas));
  }

  markOverdue(names: readonly string[], limit: number) {
    return this.send(() => this.world.database.store.markOverdue(names, limit));
  }

  stats() {
    return this.send(() => this.world.database.store.stats());
  }

  history(id: string, limit: number) {
    return this.send(() => this.world.database.store.history(id, limit));
  }

  signalWithin(
    manager: EntityManager,
    signal: SentSignal & { readonly target: StoreTarget },
    awaited?: AwaitedSignals,
  ) {
    return sessionOf(manager).statement(
      async () => (await this.world.database.signal([signal], awaited))[0]!,
    );
  }

  signal(signals: readonly (SentSignal & { readonly target: StoreTarget })[], awaited?: AwaitedSignals) {
    return this.send(() => this.world.database.signal(signals, awaited), { mayBeLate: true });
  }

  pendingSignals(id: string) {
    return this.send(() => this.world.database.store.pendingSignals(id));
  }

  ended(ids: readonly string[]) {
    return this.send(() => this.world.database.store.ended(ids));
  }

  watch(ids: readonly string[]) {
    return this.send(() => this.world.database.store.watch(ids));
  }

  changes(watched: readonly SeenSaga[]) {
    return this.send(() => this.world.database.store.changes(watched));
  }

  revisions(ids: readonly string[]) {
    return this.send(() => this.world.database.store.revisions(ids));
  }

  missing(ids: readonly string[]) {
    return this.send(() => this.world.database.store.missing(ids));
  }

  readonly pauses: StepPauseStore = {
    all: (resumed) => this.send(() => this.stored.all(resumed)),
    pause: (step, who) => this.send(() => this.stored.pause(step, who)),
    resume: (step, who) => this.send(() => this.stored.resume(step, who)),
    wake: (step) => this.send(() => this.stored.wake(step)),
  };

  private get stored(): StepPauseStore {
    return this.world.database.store.pauses;
  }

  schedules() {
    return this.send(() => this.world.database.store.schedules());
  }

  editSchedule(saga: string, change: ChangeSchedule) {
    return this.send(() => this.world.database.editSchedule(saga, change), { isInteractive: true });
  }

  readonly lastFailoverAt = -Infinity;

  isOutage(error: unknown): boolean {
    return this.isTransient(error);
  }

  isTransient(error: unknown): boolean {
    return TRANSIENT.has((error as { code?: string } | undefined)?.code ?? '');
  }

  refuses(error: unknown): boolean {
    return this.world.database.store.refuses(error);
  }

  send<T>(
    execute: () => Promise<T>,
    { mayBeLate = false, isInteractive = false }: SendOptions = {},
  ): Promise<T> {
    if (!this.call()) return never();
    const { timeline, weather, database } = this.world;
    const [there, back] = [this.dice.long(...weather.delay), this.dice.long(...weather.delay)];
    return new Promise<T>((resolve, reject) => {
      const fail = (delay: number) =>
        void timeline.after(delay, () => reject(new ConnectionLost()), this.life);
      if (timeline.now < this.link.cutUntil) return fail(there);
      if (timeline.now < this.link.hungUntil) return fail(this.untilGivenUp(this.link.hungUntil));
      if (this.dice.happens(weather.lost)) return fail(there + back);
      if (mayBeLate && this.dice.happens(weather.late)) {
        const late = there + back + this.dice.long(1, LATEST);
        timeline.after(late, () => {
          if (!database.isDown) execute().catch(() => undefined);
        });
        return fail(there + back);
      }
      timeline.after(there, () => {
        // Its half of a transaction is done by the process itself.
        if (isInteractive && !this.life.isAlive) return;
        if (database.isDown) return fail(back);
        execute().then(
          (result) => this.answer(back, fail, () => resolve(result)),
          (error: Error) => this.answer(back, fail, () => reject(error)),
        );
      });
    });
  }

  private answer(back: number, fail: (delay: number) => void, tell: () => void): void {
    const { timeline, weather, database } = this.world;
    const silentUntil = Math.max(this.link.deafUntil, this.link.hungUntil);
    if (timeline.now < silentUntil) return fail(this.untilGivenUp(silentUntil));
    if (timeline.now < this.link.cutUntil || this.dice.happens(weather.unanswered)) return fail(back);
    timeline.after(back, () => (database.isDown ? fail(0) : tell()), this.life);
  }

  private untilGivenUp(mended: number): number {
    return Math.min(SILENCE_TIMEOUT, mended - this.world.timeline.now);
  }
}

const TRANSIENT = new Set(['08006', '40001', '40P01']);
