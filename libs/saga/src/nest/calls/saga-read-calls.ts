import { type HistoryEntry, toHistoryEntry } from '../views/saga-history.js';
import { type SagaStats, toSagaStats } from '../views/saga-stats.js';
import { type RollbackPlan, toRollbackPlan } from '../views/rollback-plan.js';
import type { SagaOutcome, SagaSnapshotOf, SagaSummary } from '../views/saga-snapshot.js';
import { TURN_BUDGET } from '../../shared/turn-budget.js';
import { toOutcome } from '../views/to-snapshot.js';
import { findPage, listOn } from './find-page.js';
import type { Page, SagaFilter } from './saga-filter.js';
import { type TaskFilter, tasksPage } from './tasks-page.js';
import type { ApprovalTask } from '../views/approval-task.js';
import { handlerGraphOf, snapshotOf } from '../views/read-snapshot.js';
import type { ServiceRuntime } from '../assemble-engine.js';
import type { EngineCalls } from '../../shards/engine-calls.js';
import { type SagaUpdates, watchSaga } from './saga-watch.js';
import {
  notFound,
  type OutcomeOptions,
  readTimeout,
  type SagaHandle,
  type SagaTarget,
  toTarget,
  unknownCompensations,
} from './saga-calls.js';

/** The maximum number of entries that `history()` returns. */
const LONGEST_HISTORY = 1_000;

/** The calls of `SagaService` that read sagas and wait for them. */
export abstract class SagaReadCalls {
  /** @hidden */
  protected readonly runtime: ServiceRuntime;

  /** @hidden */
  constructor(runtime: ServiceRuntime) {
    this.runtime = runtime;
  }

  /**
   * Returns a saga. With the saga's class in the target, or as in `get<PlaceOrderSaga>(id)`, the input and the results
   * have the types of that class.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaCodecError if this process cannot decode the stored values
   */
  async get<S = unknown>(target: SagaTarget<S>): Promise<SagaSnapshotOf<S>> {
    const running = await this.runtime.ready();
    const { engine, registry } = running;
    const saga = await engine.load(toTarget(target, registry));
    if (!saga) throw notFound(target);
    return (await snapshotOf(saga, running)) as SagaSnapshotOf<S>;
  }

  /**
   * Watches a saga: the current state first, then each later one, in order, until the saga has ended (`completed`,
   * `compensated` or `aborted`). A saga that needs attention (`stuck`, `suspended`, `paused`) is still watched. Return it
   * from an `@Sse()` method, or iterate it with `for await`.
   *
   * A watcher holds no connection and no buffer: the newest state counts, and those in between may be left out. Changes that
   * this process makes are seen at once. Changes of other processes are seen after 0.25 s, or up to 2 s if the saga has not
   * changed for a while. Watching ends with the saga, the subscription (or the loop), and the application.
   *
   * Errors of the Observable, and of the loop: SagaNotFoundError if the saga does not exist or is deleted;
   * SagaUnavailableError if this process shuts down; SagaCodecError if it cannot decode the stored values;
   * SagaValidationError for an invalid target
   */
  watch<S = unknown>(target: SagaTarget<S>): SagaUpdates<S> {
    return watchSaga<S>(async () => {
      const parts = await this.runtime.ready();
      const saga = await parts.engine.load(toTarget(target, parts.registry));
      if (!saga) throw notFound(target);
      return { saga, parts };
    });
  }

  /**
   * Lists sagas that match a filter, newest first, one page at a time. With `forRoot({ readFrom })`, the page is from the
   * standby, and may lack the newest changes.
   * @throws SagaValidationError for an invalid filter
   */
  async find(filter?: SagaFilter): Promise<Page<SagaSummary>> {
    const { engine, registry, list } = await this.runtime.ready();
    return findPage(filter, registry, list ?? listOn(engine));
  }

  /**
   * Lists the steps that wait for an operator's decision and have none yet, of running sagas, oldest first, one page at a
   * time. Each is decided by `approve()` or `reject()`. The steps of a paused saga are listed again once it is resumed. The
   * page is from the primary, also with `forRoot({ readFrom })`. A page costs its rows, however many steps wait; with `tags`
   * also the tasks that it leaves out.
   * @throws SagaValidationError for an invalid filter
   */
  async tasks(filter?: TaskFilter): Promise<Page<ApprovalTask>> {
    const { engine, registry } = await this.runtime.ready();
    return tasksPage(filter, registry, engine);
  }

  /**
   * Waits until the saga ends or needs attention. Holds no connection while it waits. A step that calls it keeps its slot of
   * the worker: let a step wait by `@SubSaga` instead.
   * @throws SagaNotFoundError if the saga does not exist or is deleted while the call waits
   * @throws SagaTimeoutError after `timeout`; the saga continues
   * @throws SagaUnavailableError if this process shuts down before the saga ends; the saga continues in another process
   */
  async wait<S = unknown>(target: SagaTarget<S>, options?: OutcomeOptions): Promise<SagaOutcome<S>> {
    const running = await this.runtime.ready();
    const timeout = readTimeout('wait', options);
    const { id } = await this.get(target);
    return this.handle<S>(id, false, running.engine).outcome({ timeout });
  }

  /**
   * Returns the operator actions on a saga and the signals that it received: the latest 1,000, oldest first.
   * @throws SagaNotFoundError if the saga does not exist
   */
  async history(target: SagaTarget): Promise<HistoryEntry[]> {
    const { engine, registry } = await this.runtime.ready();
    const records = await engine.history(toTarget(target, registry), LONGEST_HISTORY);
    if (!records) throw notFound(target);
    return records.map(toHistoryEntry);
  }

  /**
   * Returns counts of unfinished sagas and messages, over all applications of this database. It reads each saga that is
   * due or leased.
   */
  async stats(): Promise<SagaStats> {
    const { engine } = await this.runtime.ready();
    return toSagaStats(await engine.stats());
  }

  /**
   * Returns the compensations that cancelling or undoing the saga would run in its current state, in order, with their
   * arguments, including those of sub-sagas. Runs none of them.
   * @throws SagaNotFoundError if the saga does not exist
   * @throws SagaDefinitionError if this application does not have this version of the saga
   */
  async previewRollback(target: SagaTarget): Promise<RollbackPlan> {
    const running = await this.runtime.ready();
    const { engine, registry } = running;
    const saga = await engine.load(toTarget(target, registry));
    if (!saga) throw notFound(target);
    const graph = (await engine.graphOf(saga)) ?? (await handlerGraphOf(saga, running));
    if (!graph) throw unknownCompensations(saga);
    return toRollbackPlan(graph, saga, (id) => this.previewRollback(id));
  }

  /**
   * @param isUncommitted the transaction that started it is open
   * @hidden
   */
  protected handle<S>(
    id: string,
    created: boolean,
    engine: Pick<EngineCalls, 'waiters'>,
    isUncommitted?: () => boolean,
  ): SagaHandle<S> {
    return {
      id,
      created,
      outcome: async (options) => {
        const settled = await engine.waiters.wait(id, readTimeout('outcome', options), isUncommitted);
        if (TURN_BUDGET.isSpent) await TURN_BUDGET.nextTurn();
        return toOutcome<S>(settled);
      },
    };
  }
}
