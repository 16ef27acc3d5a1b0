import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { type Clock, sleep } from '../../shared/clock.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import type { Edit, SagaStore, StoreTarget } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { type Revised, type SagaBindings, UnreadGraph } from '../versions/saga-bindings.js';
import type { Recovery } from './recovery.js';
import type { StoreRetry } from './store-retry.js';

/** `graph` is the graph of the saga. Undefined: this application does not have it. `now` is the time of the database. */
export type ChangeSaga = (saga: StoredSaga, graph: SagaGraph | undefined, now: number) => Edit | undefined;

export interface SagaEditsPorts {
  readonly store: Pick<SagaStore, 'edit'>;
  readonly retry: StoreRetry;
  readonly bindings: SagaBindings;
  readonly observers: SagaObservers;
  readonly clock: Clock;
  /** Undefined: nothing is put back after a failover. */
  readonly recovery?: Pick<Recovery, 'isRecent'>;
}

/** A saga that a failover has lost may yet be put back by another process: it is looked for again after so long (ms). */
const LOOK_AGAIN_MS = 200;

/** Changes sagas from outside of their runs: for operators, and for the steps whose sub-sagas they are. */
export class SagaEdits {
  constructor(private readonly ports: SagaEditsPorts) {}

  /** Changes a saga under its row's lock and reports the change to the observers. Undefined: the saga does not exist. */
  async edit(target: StoreTarget, change: ChangeSaga): Promise<StoredSaga | undefined> {
    const { store, retry, bindings, observers } = this.ports;
    let report: (() => void) | undefined;
    const edited = (saga: StoredSaga, now: number) => {
      const graph = bindings.graphOf(saga);
      const edit = change(saga, graph, now);
      const after = edit && 'state' in edit ? edit.state : saga.state;
      report = () => observers.changed(saga, [saga.state, after], now, graph);
      return edit;
    };
    for (;;) {
      try {
        const saga = await retry.run(() => store.edit(target, edited));
        if (!saga && this.ports.recovery?.isRecent) {
          await sleep(this.ports.clock, LOOK_AGAIN_MS);
          continue;
        }
        report?.();
        return saga;
      } catch (error) {
        if (!(error instanceof UnreadGraph)) throw error;
        await this.graphOf(error.saga);
      }
    }
  }

  /** Returns the graph of a saga. Undefined: this application does not have it. */
  async graphOf(saga: Revised): Promise<SagaGraph | undefined> {
    await this.ports.retry.run(() => this.ports.bindings.load([saga]));
    return this.ports.bindings.graphOf(saga);
  }
}
