import type { Durability } from '../../definition/options/saga-options.js';
import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import { BEYOND } from '../ports/put-back.js';
import { sizeOfSignal, sizeOfStart } from '../ports/payload-size.js';
import type { SagaDefinitions } from '../ports/saga-definitions.js';
import type {
  SagaStore,
  SignalResult,
  StartResult,
  StepTransaction,
  StoreTarget,
} from '../ports/saga-store.js';
import { type CheckpointResult, concernsOthers } from '../ports/checkpoint.js';
import type { Lease, NewSaga, SentSignal, StoredSaga } from '../ports/stored-saga.js';
import type { SagaBindings } from '../versions/saga-bindings.js';
import { GroupWriter, type GroupWriterOptions } from './group-writer.js';
import type { MadeCheckpoint } from './made-checkpoint.js';
import type { RecentSagas } from './recent-sagas.js';
import type { Recovery } from './recovery.js';
import { asCallError, CALL_MAX_WAIT_MS, type StoreRetry } from './store-retry.js';

/**
 * What goes into a statement, and how many of them go side by side. A statement has a price of its own (a tenth of the
 * process's time at 40 items each), so a second one is for what would make the first one large: with fewer items to a lane,
 * and with fewer lanes, fewer sagas are advanced. What a statement holds of payloads is bounded, for all of it is in memory
 * at once, here and in the server.
 */
const GROUPS = { lanes: 4, maxBatch: 500, itemsPerLane: 200, maxSize: 2 ** 20 } as const;

/** What each step of a saga's graph adds to the work for its start and for each of its checkpoints, in characters of payloads. */
const CHARACTERS_PER_STEP = 30;

/** What is written together is committed together, so each durability has a writer of its own. */
type ByDurability<Writer> = Readonly<Record<Durability, Writer>>;

function eachDurability<Writer>(make: (durability: Durability) => Writer): ByDurability<Writer> {
  return { durable: make('durable'), relaxed: make('relaxed') };
}

const closed = (writers: readonly { close(): Promise<void> }[]) =>
  Promise.all(writers.map((writer) => writer.close()));

export type AddressedSignal = SentSignal & { readonly target: StoreTarget };

export interface SagaWritersPorts {
  readonly store: SagaStore;
  readonly lease: Lease;
  readonly retry: StoreRetry;
  readonly bindings: SagaBindings;
  readonly definitions: Pick<SagaDefinitions, 'awaitedSignals'>;
  readonly observers: SagaObservers;
  readonly storeClock: StoreClock;
  readonly clock: Clock;
  readonly random: () => number;
  /** Undefined: nothing is put back after a failover. */
  readonly recovery?: Recovery;
}

/**
 * Writes starts, checkpoints and signals: calls that arrive together share a statement and a commit. Each durability has
 * its own statements, and a checkpoint that concerns other sagas is written alone.
 */
export class SagaWriters {
  private readonly starts: ByDurability<GroupWriter<NewSaga, StartResult>>;
  private readonly checkpoints: ByDurability<GroupWriter<MadeCheckpoint, CheckpointResult>>;
  /** Writes the checkpoints that concern other sagas. */
  private readonly families: GroupWriter<MadeCheckpoint, CheckpointResult>;
  private readonly signals: GroupWriter<AddressedSignal, SignalResult>;
  private readonly recent: RecentSagas | undefined;

  constructor(private readonly ports: SagaWritersPorts) {
    this.recent = ports.recovery?.recent;
    const { store, lease, retry, bindings, definitions } = ports;
    const stepsOf = ({ name, version }: NewSaga) => bindings.graphOf({ name, version })?.steps.size ?? 0;
    this.starts = eachDurability((durability) =>
      this.group<NewSaga, StartResult>({
        sizeOf: (saga) => sizeOfStart(saga) + stepsOf(saga) * CHARACTERS_PER_STEP,
        write: (batch, isRepeated) =>
          retry.reached(() =>
            isRepeated ? this.startOnce(batch, durability) : store.start(batch, lease, durability),
          ),
        patience: CALL_MAX_WAIT_MS,
      }),
    );
    this.checkpoints = eachDurability((durability) =>
      this.group<MadeCheckpoint, CheckpointResult>({
        sizeOf: ({ size, graphSteps }) => size + graphSteps * CHARACTERS_PER_STEP,
        write: (batch) => this.writeCheckpoints(batch, durability),
        patience: Infinity,
      }),
    );
    this.families = this.group<MadeCheckpoint, CheckpointResult>({
      maxBatch: 1,
      itemsPerLane: 1,
      write: (batch) => this.writeCheckpoints(batch),
      patience: Infinity,
    });
    this.signals = this.group<AddressedSignal, SignalResult>({
      sizeOf: sizeOfSignal,
      write: (batch) => retry.reached(() => store.signal(batch, definitions.awaitedSignals)),
      patience: CALL_MAX_WAIT_MS,
    });
  }

  /** Stores a saga. If the result is leased, this process runs the saga. */
  async start(saga: NewSaga): Promise<StartResult> {
    let result: StartResult;
    try {
      const { durability = 'durable' } = this.ports.bindings.graphOf(saga) ?? {};
      result = await this.starts[durability].write(saga);
    } catch (error) {
      throw asCallError(error, this.ports.store);
    }
    if (!result.created) return result;
    this.recent?.started(saga, result.now);
    return result;
  }

  /** Prepares sagas that this process has claimed: their graphs are read. */
  async took(sagas: readonly StoredSaga[]): Promise<void> {
    await this.ports.retry.run(() => this.ports.bindings.load(sagas));
    for (const saga of sagas) this.recent?.claimed(saga);
  }

  /** Stores a checkpoint. Transient errors are retried until the writers are closed. */
  checkpoint(checkpoint: MadeCheckpoint): Promise<CheckpointResult> {
    return concernsOthers(checkpoint)
      ? this.families.write(checkpoint)
      : this.checkpoints[checkpoint.durability].write(checkpoint);
  }

  /** Runs `work` in a transaction that also stores the checkpoint that it returns. */
  async transact(
    work: (transaction: StepTransaction) => Promise<MadeCheckpoint>,
    held: Parameters<SagaStore['transact']>[1],
  ): Promise<CheckpointResult> {
    await this.ports.recovery?.ready();
    let made: MadeCheckpoint | undefined;
    const result = await this.ports.store.transact(async (transaction) => {
      made = await work(transaction);
      this.afterFailover(made);
      return made;
    }, held);
    if (result === 'saved') this.recent?.stored(made!, true);
    return result;
  }

  signal(signal: AddressedSignal): Promise<SignalResult> {
    return this.signals.write(signal).catch((error: unknown) => {
      throw asCallError(error, this.ports.store);
    });
  }

  /** From now on, transient errors of starts and signals are final. */
  hasten(): void {
    this.ports.recovery?.hasten();
    for (const writer of [...Object.values(this.starts), this.signals]) writer.hasten();
  }

  /** Resolves once every checkpoint is stored, or has failed. */
  async closeCheckpoints(): Promise<void> {
    await closed([...Object.values(this.checkpoints), this.families]);
  }

  /** Resolves once every start and every signal is stored, or has failed. */
  async close(): Promise<void> {
    await closed([...Object.values(this.starts), this.signals]);
  }

  private group<Item, Result>(
    options: Pick<GroupWriterOptions<Item, Result>, 'write' | 'patience'> &
      Partial<GroupWriterOptions<Item, Result>>,
  ): GroupWriter<Item, Result> {
    const { clock, random, store, retry } = this.ports;
    return new GroupWriter<Item, Result>({
      ...GROUPS,
      ...{ clock, random },
      isOutage: (error) => store.isOutage(error),
      isTransient: (error) => store.isTransient(error),
      onOutage: (error) => retry.failed(error),
      ...options,
    });
  }

  /** Starts that may have been stored by an earlier try. Those of which the saga has ended and was deleted since are not repeated. */
  private async startOnce(batch: readonly NewSaga[], durability: Durability): Promise<StartResult[]> {
    const { store, lease, storeClock } = this.ports;
    const revisions = await store.revisions(batch.map(({ id }) => id));
    const deleted = new Set(revisions.filter(({ epoch }) => epoch === BEYOND).map(({ id }) => id));
    const left = batch.filter(({ id, fresh }) => !fresh || !deleted.has(id));
    const results = left.length > 0 ? await store.start(left, lease, durability) : [];
    const byId = new Map(left.map(({ id }, n) => [id, results[n]!]));
    return batch.map(({ id }) => byId.get(id) ?? { created: true, leased: false, now: storeClock.now() });
  }

  private async writeCheckpoints(
    batch: MadeCheckpoint[],
    durability?: Durability,
  ): Promise<CheckpointResult[]> {
    const { recent } = this;
    const { store, observers, retry } = this.ports;
    observers.measure('checkpointing', batch.length);
    const results = await retry.reached(() => {
      for (const made of batch) this.afterFailover(made);
      return store.checkpoint(batch, durability);
    });
    if (recent)
      for (const [n, result] of results.entries()) if (result === 'saved') recent.stored(batch[n]!, false);
    return results;
  }

  /** What a saga's last checkpoint, or the claim of its lease, was sent before a failover may be gone: it has to be there. */
  private afterFailover(made: MadeCheckpoint): void {
    const { store, lease } = this.ports;
    if (made.previousAt > store.lastFailoverAt) return;
    made.after = Math.max(made.after ?? 0, made.previous);
    made.holder = lease.worker;
  }
}
