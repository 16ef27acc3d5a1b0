import type { StoreClock } from '../../shared/store-clock.js';
import type { Operation } from '../ports/operation.js';
import type { Edit, SagaStore } from '../ports/saga-store.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import type { SagaBindings } from '../versions/saga-bindings.js';
import { decidePutBack, startAgain } from './decide-put-back.js';
import type { KnownSaga } from './recent-sagas.js';

export interface PutBackPorts {
  readonly store: SagaStore;
  readonly lease: Lease;
  readonly bindings: SagaBindings;
  readonly storeClock: StoreClock;
  readonly newId: () => string;
  /** The epoch under which this process runs a saga. Undefined: it does not. */
  readonly runsUnder: (id: string) => number | undefined;
}

/** A saga of which the database has less than this process knows. */
export interface Lost {
  readonly known: KnownSaga;
  /** The start of the saga was lost, and has been stored again. */
  readonly isNew: boolean;
  /** Another saga has its correlation id since the failover. */
  readonly isConflict: boolean;
}

/** How much was put back, in sagas. `left`: those that are left as they are stored. */
export interface PutBackCount {
  starts: number;
  checkpoints: number;
  left: number;
}

export interface PutBackResult {
  readonly what: 'put-back' | 'current' | 'elsewhere' | 'transaction' | 'conflict';
  /** The name of the saga. */
  readonly name: string;
  /** All that is known was put back. Otherwise the rest happens anew, and what is known of it does not count any more. */
  readonly isWhole: boolean;
}

/** Finds out what was lost of sagas, and stores it. Each call may be repeated. */
export class PutBackSagas {
  /** The sagas whose starts have been stored again, so that a call that is repeated knows it. */
  private readonly startedAgain = new WeakSet<KnownSaga>();

  constructor(private readonly ports: PutBackPorts) {}

  /** Returns the sagas of which something was lost. What was never stored is started again. */
  async lostOf(known: readonly KnownSaga[]): Promise<Lost[]> {
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

  /** Stores what was lost of one. */
  async putBack({ known, isNew, isConflict }: Lost): Promise<PutBackResult> {
    if (isConflict) return { what: 'conflict', name: known.start?.saga.name ?? '', isWhole: false };
    const { store, lease, bindings, runsUnder } = this.ports;
    let what: PutBackResult['what'] = 'current';
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
    return { what, name: saga?.name ?? '', isWhole };
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
