import type { Checkpoint, CheckpointResult } from '../../libs/saga/src/engine/ports/checkpoint.js';
import type { Edit, SagaStore, StoreTarget } from '../../libs/saga/src/engine/ports/saga-store.js';
import { BEYOND } from '../../libs/saga/src/engine/ports/put-back.js';
import type { NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { MemorySagaStore } from '../../libs/saga/src/store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../libs/saga/src/store/memory/memory-wakeup.js';
import { EPOCH } from './simulated-clock.js';
import type { Timeline } from './timeline.js';

/** The transaction of a step: what it writes is there once it is committed. */
export interface LedgerTransaction {
  readonly entries: string[];
}

interface Commit {
  readonly at: number;
  readonly entries: readonly string[];
  readonly repeat: (store: MemorySagaStore) => Promise<unknown>;
}

const CHANGING: readonly string[] = [
  ...['start', 'checkpoint', 'claim', 'giveBack', 'renew', 'signal', 'watch', 'reserve'],
];

/** The parts of a store whose statements begin with their name. */
const PARTS = ['pauses', 'stepSlots'] as const;
type Parts = Pick<SagaStore, (typeof PARTS)[number]>;

/** A primary with an asynchronous standby. After a failover, the database has none of the last commits. */
export class ForgetfulDatabase {
  readonly hub = new MemoryWakeupHub();
  memory: MemorySagaStore;
  /** The number of failovers so far. */
  era = 0;
  isDown = false;
  /** What transactions have written, in order. */
  ledger: string[] = [];
  /** Commits that were forgotten. */
  forgotten = 0;
  /** Sagas that ended, were deleted, and were started again. */
  readonly revived = new Set<string>();
  private commits: Commit[] = [];
  private repeatedAt: number | undefined;

  constructor(private readonly timeline: Timeline) {
    this.memory = this.empty();
  }

  /** Executes a statement, and remembers it for the standby if it changes anything. */
  async execute(name: string, parameters: readonly unknown[]): Promise<unknown> {
    if (name === 'transact') return this.transact(...(parameters as Parameters<SagaStore['transact']>));
    const [part, statement] = name.split('.') as [keyof Parts, string | undefined];
    if (statement !== undefined) return this.partly(part, statement, parameters);
    if (name === 'start') await this.noteRevived(parameters[0] as readonly NewSaga[]);
    if (name === 'edit') return this.edit(...(parameters as Parameters<SagaStore['edit']>));
    const repeat = (store: MemorySagaStore) =>
      (store as unknown as Record<string, (...given: readonly unknown[]) => Promise<unknown>>)[name]!(
        ...parameters,
      );
    const result = await repeat(this.memory);
    if (CHANGING.includes(name)) this.keep(repeat);
    return result;
  }

  /** Deletes the sagas of a name that ended at least so many milliseconds ago. */
  async cleanUp(name: string, age: number): Promise<void> {
    const batch = { name, age, most: Infinity, dryRun: false, alone: false };
    const repeat = (store: MemorySagaStore) => store.cleanup.batch(batch);
    await repeat(this.memory);
    this.keep(repeat);
  }

  /** The primary is gone. A standby is promoted that has no commit of the last `lag` milliseconds. */
  async failOver(lag: number): Promise<void> {
    const kept = this.commits.filter(({ at }) => at <= this.timeline.now - lag);
    this.forgotten += this.commits.length - kept.length;
    this.commits = kept;
    this.ledger = kept.flatMap(({ entries }) => entries);
    this.memory = this.empty();
    for (const { at, repeat } of kept) {
      this.repeatedAt = at;
      await repeat(this.memory);
    }
    this.repeatedAt = undefined;
    this.era += 1;
  }

  private async noteRevived(sagas: readonly NewSaga[]): Promise<void> {
    const revisions = await this.memory.revisions(sagas.map(({ id }) => id));
    for (const { id, epoch } of revisions) if (epoch === BEYOND) this.revived.add(id);
  }

  private partly(part: keyof Parts, name: string, parameters: readonly unknown[]): Promise<unknown> {
    const store = this.memory[part] as unknown as Record<
      string,
      (...given: readonly unknown[]) => Promise<unknown>
    >;
    return store[name]!(...parameters);
  }

  private empty(): MemorySagaStore {
    const now = () => EPOCH + (this.repeatedAt ?? this.timeline.now);
    return new MemorySagaStore({ now, wakeup: this.hub.wakeup() });
  }

  private keep(repeat: Commit['repeat'], entries: readonly string[] = []): void {
    this.commits.push({ at: this.timeline.now, entries, repeat });
    this.ledger.push(...entries);
  }

  private async transact(...[work]: Parameters<SagaStore['transact']>): Promise<CheckpointResult> {
    const { era } = this;
    const transaction: LedgerTransaction = { entries: [] };
    const checkpoint: Checkpoint = await work({ transaction, manager: transaction as never });
    // Its connection was to the primary that is gone.
    if (this.isDown || era !== this.era) throw new ConnectionGone();
    const repeat = (store: MemorySagaStore) => store.checkpoint([checkpoint]);
    const [result] = await repeat(this.memory);
    if (result === 'saved') this.keep(repeat, transaction.entries);
    return result!;
  }

  private async edit(target: StoreTarget, change: (saga: StoredSaga, now: number) => Edit | undefined) {
    let edit: Edit | undefined;
    const saga = await this.memory.edit(target, (row, now) => (edit = change(row, now)));
    if (edit) this.keep((store) => store.edit(target, () => edit));
    return saga;
  }
}

/** A part of the store of a process that sends its statements so. Undefined: it is no such part. */
export function partBy(
  name: string | symbol,
  send: (name: string, parameters: readonly unknown[]) => unknown,
): object | undefined {
  const part = PARTS.find((one) => one === name);
  if (!part) return undefined;
  const get =
    (_: object, statement: string | symbol) =>
    (...parameters: readonly unknown[]) =>
      send(`${part}.${String(statement)}`, parameters);
  return new Proxy({}, { get });
}

/** It is unknown whether the statement was executed. */
export class ConnectionGone extends Error {
  constructor() {
    super('Connection terminated unexpectedly');
  }
}
