import type { EntityManager } from 'typeorm';
import type {
  AwaitedSignals,
  Claim,
  ClaimRequest,
  Edit,
  SagaStore,
  SignalResult,
  StartResult,
  StoreTarget,
} from '../../libs/saga/src/engine/ports/saga-store.js';
import type {
  Checkpoint,
  CheckpointResult,
  StoredMessage,
} from '../../libs/saga/src/engine/ports/checkpoint.js';
import type {
  HeldLease,
  Lease,
  NewSaga,
  SentSignal,
  StoredSaga,
} from '../../libs/saga/src/engine/ports/stored-saga.js';
import type { ChangeSchedule, ScheduleEdited } from '../../libs/saga/src/engine/ports/stored-schedule.js';
import { type StoredTask, tasksOf } from '../../libs/saga/src/engine/ports/stored-task.js';
import { MemorySagaStore } from '../../libs/saga/src/store/memory/memory-saga-store.js';
import type { ModelTransaction } from '../models/transaction-model.js';
import { MemoryWakeupHub } from '../../libs/saga/src/store/memory/memory-wakeup.js';
import { UnstorableError } from '../../libs/saga/src/store/memory/stored-copy.js';
import { relationsOf } from '../../libs/saga/src/machine/graph-relations.js';
import { isTerminal, stepState } from '../../libs/saga/src/machine/saga-state.js';
import { clearTextsIn, codedStore, decodedMessage } from './coded-database.js';
import { UNSTORABLE } from './effect.js';
import { EPOCH } from './simulated-clock.js';
import type { Timeline } from './timeline.js';
import type { InvariantChecker } from './invariant-checker.js';

function isUnstorable({ state, changed }: Checkpoint): boolean {
  return changed.some((key) => stepState(state, key).result?.includes(UNSTORABLE));
}

/** What a transactional step did, which is there once the transaction is committed. */
export class SimulatedTransaction {
  readonly effects: (() => void)[] = [];
}

/**
 * The one database that all processes share: the store that passes the same contract as PostgreSQL, seen by a
 * checker
 * after each statement. It outlives everything.
 */
export class Database {
  readonly hub = new MemoryWakeupHub();
  private readonly memory: MemorySagaStore;
  /** As processes use it. */
  readonly store: SagaStore;
  downUntil = 0;
  /** Takes what checkpoints publish, with their commit. */
  publish: (messages: readonly StoredMessage[]) => void = () => undefined;

  constructor(
    private readonly timeline: Timeline,
    private readonly checker: InvariantChecker,
    private readonly isCoded = false,
  ) {
    this.memory = new MemorySagaStore({ now: () => this.now, wakeup: this.hub.wakeup() });
    this.store = isCoded ? codedStore(this.memory) : this.memory;
  }

  /** Milliseconds since the epoch. */
  private get now(): number {
    return EPOCH + this.checker.time.now;
  }

  /** With a codec: nothing that is stored is in clear. */
  async checkCoded(): Promise<void> {
    if (!this.isCoded) return;
    for (const text of await clearTextsIn(this.memory)) this.checker.violate('I42', text);
  }

  get isDown(): boolean {
    return this.timeline.now < this.downUntil;
  }

  async start(sagas: readonly NewSaga[], lease: Lease): Promise<StartResult[]> {
    const results = await this.store.start(sagas, lease);
    sagas.forEach((saga, n) => this.checker.started(saga, results[n], lease));
    return results;
  }

  /** It is there for others once the transaction has committed. */
  async startWithin(transaction: ModelTransaction, saga: NewSaga, lease: Lease): Promise<StartResult> {
    transaction.onCommit.push(() => {
      void this.start([saga], lease);
      this.hub.announce({ type: 'due' });
    });
    return { created: true, leased: false, now: this.now };
  }

  async checkpoint(checkpoints: readonly Checkpoint[], worker: string): Promise<CheckpointResult[]> {
    // One bad row, and the statement fails as a whole.
    if (checkpoints.some(isUnstorable)) throw new UnstorableError('The database refuses a result');
    const published = this.memory.outbox.length;
    const results = await this.store.checkpoint(checkpoints);
    const messages = this.memory.outbox.slice(published);
    this.publish(this.isCoded ? messages.map(decodedMessage) : messages);
    checkpoints.forEach((checkpoint, n) => {
      if (results[n] === 'saved') this.checker.saved(checkpoint, worker);
    });
    for (const { id } of checkpoints) void this.checkTasks(id);
    if (checkpoints.some(({ lock, state }) => lock && isTerminal(state.status))) void this.checkLocks();
    return results;
  }

  async commit(
    checkpoint: Checkpoint,
    { effects }: SimulatedTransaction,
    worker: string,
  ): Promise<CheckpointResult> {
    const [result] = await this.checkpoint([checkpoint], worker);
    if (result === 'saved') for (const effect of effects) effect();
    return result!;
  }

  async claim(request: ClaimRequest): Promise<Claim> {
    const claim = await this.store.claim(request);
    this.checker.claimed(claim.sagas, request);
    void this.checkRefusals();
    return claim;
  }

  async renew(leases: readonly HeldLease[], lease: Lease) {
    const result = await this.store.renew(leases, lease);
    for (const held of leases) if (!result.lost.includes(held.id)) this.checker.renewed(held, lease);
    return result;
  }

  /** A renewal without an answer may have stored its reports, and may still. */
  unanswered(leases: readonly HeldLease[]): void {
    this.checker.heartbeats.unanswered(leases);
  }

  async giveBack(
    leases: readonly { readonly id: string; readonly epoch: number }[],
    lease: Lease,
    delay: number,
  ) {
    await this.store.giveBack(leases, lease, delay);
    for (const { id, epoch } of leases) this.checker.gaveBack(id, epoch, lease);
  }

  async edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    let edit: Edit | undefined;
    const saga = await this.store.edit(target, (before, now) => (edit = change(before, now)));
    if (saga && edit && 'signal' in edit) {
      const { messageId } = edit.signal;
      const kept = saga.signals?.find((signal) => signal.messageId === messageId);
      if (kept) this.checker.keeps(saga.id, kept);
      void this.checkTasks(saga.id);
    } else if (saga && edit) {
      this.checker.edited(saga, edit);
      void this.checkTasks(saga.id);
      if (this.checker.books.get(saga.id)!.lockKey !== undefined) void this.checkLocks();
    }
    return saga;
  }

  async editSchedule(saga: string, change: ChangeSchedule): Promise<ScheduleEdited | undefined> {
    let start: NewSaga | undefined;
    const edited = await this.store.editSchedule(saga, (stored, now) => {
      const edit = change(stored, now);
      start = edit?.start;
      return edit;
    });
    if (start && edited?.start) this.checker.started(start, edited.start, { worker: '', duration: 0 });
    return edited;
  }

  async signal(
    signals: readonly (SentSignal & { readonly target: StoreTarget })[],
    awaited?: AwaitedSignals,
  ): Promise<SignalResult[]> {
    const results = await this.store.signal(signals, awaited);
    for (const [n, result] of results.entries()) {
      if (result.outcome !== 'kept') continue;
      const kept = await this.store.pendingSignals(result.saga.id);
      this.checker.keeps(
        result.saga.id,
        kept.find(({ messageId }) => messageId === signals[n]!.messageId)!,
      );
    }
    return results;
  }

  /** Reads the list of tasks immediately, and compares it with what the saga says. */
  private async checkTasks(id: string): Promise<void> {
    const book = this.checker.books.get(id);
    if (!book || !relationsOf(book.relations.graph).hasApprovals) return;
    const [listed, saga] = await Promise.all([
      this.store.tasks({ limit: Infinity }),
      this.store.load({ id }),
    ]);
    const stepsOf = (tasks: readonly StoredTask[]) =>
      tasks
        .map(({ step, since }) => `${step} since ${since}`)
        .sort()
        .join(', ');
    const [list, state] = [stepsOf(listed.filter((task) => task.id === id)), stepsOf(tasksOf(saga!))];
    if (list !== state)
      this.checker.violate('I33', `the tasks of ${id} are [${list}], and should be [${state}]`);
  }

  /** Reads the stored locks immediately. It reports findings later, so that nothing waits for it. */
  private async checkLocks(): Promise<void> {
    this.checker.locks.stored(await this.withLocks(), EPOCH + this.checker.time.passed);
  }

  /**
   * A claim refuses a lock to who would wait for ever; if that one is undone, to those that wait for what its ancestors have. They
   * are claimed later, when the circle may have gone.
   */
  private async checkRefusals(): Promise<void> {
    const sagas = await this.withLocks();
    const held = new Set(sagas.filter(({ lock }) => lock?.held).map(({ id }) => id));
    for (const { id, deadlock } of sagas) {
      const book = this.checker.books.get(id)!;
      if (!deadlock || book.isDeadlocked) continue;
      book.isDeadlocked = true;
      this.checker.locks.refused(book, (other) => held.has(other));
    }
  }

  /** Sagas with a lock that have not ended. */
  private async withLocks(): Promise<StoredSaga[]> {
    const ids = [...this.checker.books.values()]
      .filter(({ lockKey, state }) => lockKey !== undefined && !isTerminal(state.status))
      .map(({ id }) => id);
    const sagas = await Promise.all(ids.map((id) => this.store.load({ id })));
    return sagas.filter((saga) => saga !== undefined);
  }

  /** A transaction, as methods are given it. */
  static managerOf(transaction: SimulatedTransaction): EntityManager {
    return transaction as unknown as EntityManager;
  }
}
