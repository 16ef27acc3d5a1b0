import type { Clock } from '../../shared/clock.js';
import type { StoreClock } from '../../shared/store-clock.js';
import { repeated } from '../../shared/transient-wait.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { Operation } from '../ports/operation.js';
import type { Edit, SagaStore } from '../ports/saga-store.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import type { SagaBindings } from '../versions/saga-bindings.js';
import { decidePutBack, startAgain } from './decide-put-back.js';
import type { KnownSaga, RecentSagas } from './recent-sagas.js';

export interface RecoveryPorts {
  readonly store: SagaStore;
  readonly lease: Lease;
  readonly bindings: SagaBindings;
  readonly observers: SagaObservers;
  readonly clock: Clock;
  readonly storeClock: StoreClock;
  readonly random: () => number;
  readonly newId: () => string;
  readonly log: EngineLog;
  /** The epoch under which this process runs a saga. Undefined: it does not. */
  readonly runsUnder: (id: string) => number | undefined;
  /** The run of a saga here looks again at what it waits for: others of that may have been lost. */
  readonly look: (id: string) => void;
}

/** Sagas that are looked at, or started again, with one statement. */
const BATCH = 200;
/** Sagas that are put back side by side. */
const LANES = 4;

/** A saga of which the database has less than this process knows. */
interface Lost {
  readonly known: KnownSaga;
  /** The start of the saga was lost, and has been stored again. */
  readonly isNew: boolean;
  /** Another saga has its correlation id since the failover. */
  readonly isConflict: boolean;
}

/** How much was put back, in sagas. `left`: those that are left as they are stored. */
interface PutBackCount {
  starts: number;
  checkpoints: number;
  left: number;
}

/** Finds out what a failover has lost of the sagas that this process knows, and stores it again. */
export class PutBackSagas {
  /** The sagas whose starts have been stored again, so that a call that is repeated knows it. */
  private readonly startedAgain = new WeakSet<KnownSaga>();
  /** Transient errors are final. */
  isHastened = false;

  constructor(
    private readonly recent: RecentSagas,
    private readonly ports: RecoveryPorts,
  ) {}

  async putAllBack(): Promise<void> {
    const count: PutBackCount = { starts: 0, checkpoints: 0, left: 0 };
    for (let known = this.recent.all(); known.length > 0;) {
      const began = this.ports.clock.monotonic();
      for (let n = 0; n < known.length; n += BATCH) await this.putBack(known.slice(n, n + BATCH), count);
      // Nothing is sent meanwhile. But answers of the server that was the primary may have been on their way.
      known = this.recent.all().filter(({ at }) => at >= began);
    }
    const { starts, checkpoints, left } = count;
    if (starts + checkpoints + left === 0) return;
    const others = left === 0 ? '' : `. ${left} saga(s) were left as they are stored`;
    this.ports.log.warn(
      `A failover has lost commits. Put back: the starts of ${starts} and the progress of ${checkpoints} saga(s)${others}`,
    );
  }

  private async putBack(known: readonly KnownSaga[], count: PutBackCount): Promise<void> {
    const waiting = await this.lostOf(known, count);
    const lane = async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await this.putOneBack(next, count);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  /** One that the database refuses to store again is left out. */
  private async lostOf(known: readonly KnownSaga[], count: PutBackCount): Promise<Lost[]> {
    try {
      return await this.persist(() => this.missingOf(known));
    } catch (error) {
      if (this.ports.store.isOutage(error)) throw error;
      if (known.length === 1) return this.leave(known[0]!, error, count);
      const lost: Lost[] = [];
      for (const one of known) lost.push(...(await this.lostOf([one], count)));
      return lost;
    }
  }

  private leave({ id }: KnownSaga, error: unknown, count: PutBackCount): [] {
    count.left += 1;
    this.ports.log.error(`Saga ${id} could not be put back: ${(error as Error).message}`);
    return [];
  }

  private async putOneBack({ known, isNew, isConflict }: Lost, count: PutBackCount): Promise<void> {
    const { store, observers } = this.ports;
    if (isConflict) {
      count.left += 1;
      return this.recent.forget(known);
    }
    try {
      const { what, name, isWhole } = await this.persist(() => this.store(known, isNew));
      if (isNew) {
        count.starts += 1;
        observers.measure('putBack', 'start', name);
      }
      if (what === 'put-back') {
        count.checkpoints += 1;
        observers.measure('putBack', 'checkpoint', name);
        if (waitsForOthers(known)) this.ports.look(known.id);
      }
      const isLeft = what === 'elsewhere' || what === 'transaction';
      if (isLeft) count.left += 1;
      // What is not put back happens anew, and what is known of it does not count any more.
      if (isLeft || !isWhole) this.recent.outlive(known);
    } catch (error) {
      if (store.isOutage(error)) throw error;
      this.leave(known, error, count);
    }
  }

  /** Retries what may be repeated until the database answers. */
  private persist<T>(call: () => Promise<T>): Promise<T> {
    return repeated(call, (error) => this.ports.store.isOutage(error) && !this.isHastened, this.ports);
  }

  /** Returns the sagas of which something was lost. What was never stored is started again. */
  private async missingOf(known: readonly KnownSaga[]): Promise<Lost[]> {
    const rows = await this.ports.store.revisions(known.map(({ id }) => id));
    const stored = new Map(rows.map((row) => [row.id, row]));
    const missing = known.filter(({ id }) => !stored.has(id));
    const conflicts = await this.startAll(missing);
    return known.flatMap((one): Lost[] => {
      const isConflict = conflicts.has(one.id);
      const isNew = this.startedAgain.has(one);
      const isBehind = one.last !== undefined && (stored.get(one.id)?.checkpoints ?? 0) < one.last.number;
      return isConflict || isNew || isBehind ? [{ known: one, isNew, isConflict }] : [];
    });
  }

  /** Stores what was lost of one. Returns what was decided, and whether all that is known was put back. The call may be repeated. */
  private async store(known: KnownSaga, isNew: boolean) {
    const { store, lease, bindings, runsUnder } = this.ports;
    let what: 'put-back' | 'current' | 'elsewhere' | 'transaction' = 'current';
    let isWhole = true;
    const saga = await store.edit({ id: known.id }, (row, now): Edit | undefined => {
      const graph = bindings.graphOf(row);
      const fresh = isNew && row.checkpoints === 0;
      const decided = decidePutBack({
        ...{ known, row, isNew: fresh, runsUnder: runsUnder(known.id), lease, graph, now },
      });
      what = typeof decided === 'string' ? decided : 'put-back';
      isWhole = typeof decided === 'string' || decided.checkpoint.number === known.last!.number;
      if (typeof decided !== 'string') return { putBack: decided, operation: this.record(row, known, fresh) };
      return fresh ? { proposal: true, operation: this.record(row, known, fresh) } : undefined;
    });
    this.startedAgain.delete(known);
    return {
      what: what as 'put-back' | 'current' | 'elsewhere' | 'transaction',
      name: saga?.name ?? '',
      isWhole,
    };
  }

  /** Stores the starts that are missing. Returns the ids of those whose correlation id another saga has. */
  private async startAll(missing: readonly KnownSaga[]): Promise<Set<string>> {
    const { store, lease, bindings, storeClock, runsUnder } = this.ports;
    const now = storeClock.now();
    const starts = missing.flatMap((known) => {
      const leased = runsUnder(known.id) === 1 && known.last === undefined && known.start?.saga.leased;
      const graph = known.claimed && bindings.graphOf(known.claimed);
      return startAgain(known, leased === true, now, graph) ?? [];
    });
    const conflicts = new Set<string>();
    if (starts.length === 0) return conflicts;
    const results = await store.start(starts, lease);
    const byId = new Map(missing.map((known) => [known.id, known]));
    results.forEach((result, n) => {
      const { id } = starts[n]!;
      if (result.created) this.startedAgain.add(byId.get(id)!);
      else if (result.existing?.id !== id) conflicts.add(id);
    });
    return conflicts;
  }

  private record(row: StoredSaga, { last }: KnownSaga, isNew: boolean): Operation {
    const from = row.checkpoints + 1;
    const to = last?.number ?? 0;
    const what = [isNew ? 'the start' : '', to < from ? '' : `checkpoints ${from} to ${to}`];
    return {
      id: this.ports.newId(),
      action: 'put-back',
      by: this.ports.lease.worker,
      reason: `a failover had lost ${what.filter((part) => part !== '').join(' and ')}`,
      from: row.state.status,
      revision: row.checkpoints,
      proposed: false,
    };
  }
}

function waitsForOthers({ last }: KnownSaga): boolean {
  return last !== undefined && [...last.state.steps.values()].some(({ child }) => child !== undefined);
}
