import type { Durability } from '../../definition/options/saga-options.js';
import type {
  Claim,
  ClaimRequest,
  Edit,
  RenewResult,
  StartResult,
  StoredSummary,
  StoreFilter,
  StoreTarget,
} from '../../engine/ports/saga-store.js';
import type { CheckpointResult } from '../../engine/ports/checkpoint.js';
import type { HeldLease, Lease, NewSaga, StoredSaga } from '../../engine/ports/stored-saga.js';
import { fieldArrays } from './checkpoint/column-values.js';
import { inLockOrder } from './checkpoint/in-lock-order.js';
import { IDLE_TIMEOUT } from './checkpoint/prepared-calls.js';
import { setting } from './checkpoint/select.js';
import { renewLeases } from './claim/renew-leases.js';
import type { Sql } from './connection/sql.js';
import { applyEdit, type EditTransaction } from './edit/apply-edit.js';
import { findSagas } from './read/find-sagas.js';
import { toStoredSaga } from './read/stored-saga-row.js';
import type { SchemaStatements } from './schema-statements.js';

/** The lease of a saga, as its holder knows it. */
export interface Held {
  readonly id: string;
  readonly epoch: number;
}

/** What a store does with the rows of sagas, in the table `instance`. */
export class InstanceStatements {
  constructor(
    private readonly on: SchemaStatements,
    /** Runs starts. Default: each is a transaction of its own. */
    private readonly sql: Sql = on.sql,
  ) {}

  /**
   * Returns the same statements, in a transaction of the application.
   * @param _transaction as the database layer has it
   * @param sql its statements
   */
  within(_transaction: unknown, sql: Sql): SagaInstances {
    return new InstanceStatements(this.on, sql);
  }

  start(sagas: readonly NewSaga[], lease: Lease, durability?: Durability): Promise<StartResult[]> {
    return this.on.starts.start(this.sql, sagas, lease, durability);
  }

  claim(request: ClaimRequest): Promise<Claim> {
    return this.on.claims.claim(request);
  }

  renew(leases: readonly HeldLease[], lease: Lease): Promise<RenewResult> {
    return renewLeases(this.on.query, this.on.texts, leases, lease);
  }

  async giveBack(leases: readonly Held[], lease: Lease, delay: number): Promise<void> {
    const [ids, epochs] = fieldArrays(inLockOrder(leases), 'id', 'epoch');
    await this.on.query(...this.on.texts.giveBack({ ids, epochs, worker: lease.worker, delay }));
  }

  load(target: StoreTarget): Promise<StoredSaga | undefined> {
    return this.on.load(this.sql, target);
  }

  search(filter: StoreFilter): Promise<StoredSummary[]> {
    return this.on.searching((sql) => findSagas(sql, this.on.schema, filter));
  }

  edit(
    target: StoreTarget,
    change: (saga: StoredSaga, now: number) => Edit | undefined,
  ): Promise<StoredSaga | undefined> {
    const { on } = this;
    return on.sql.commit("An operator's change", async (sql) => {
      const query = on.queryOn(sql);
      const idle = on.sql.watchdog.betweenStatements;
      if (idle !== undefined) await query(`SELECT ${setting(IDLE_TIMEOUT, '$1')}`, [String(idle)]);
      const found = await on.load(sql, target);
      if (!found) return undefined;
      const { lock, name } = found;
      if (lock) await query(...on.texts.lockQueues({ names: [name], keys: [lock.key] }));
      await query(...on.texts.lock({ id: found.id }));
      const row = await on.readerOn(sql).byId(found.id);
      if (!row) return undefined;
      const saga = toStoredSaga(row);
      const edit = change(saga, row.now);
      if (!edit) return saga;
      const transaction: EditTransaction = {
        sql: on.texts,
        query,
        checkpoint: (checkpoint) => on.checkpoints.saveOn(sql, [checkpoint]) as Promise<CheckpointResult[]>,
        notify: (payload) => on.notify(sql, payload),
      };
      await applyEdit(transaction, saga, edit, row.now);
      return on.load(sql, { id: saga.id });
    });
  }
}

/** The sagas of a schema as a store uses them. */
export type SagaInstances = Pick<InstanceStatements, keyof InstanceStatements>;
