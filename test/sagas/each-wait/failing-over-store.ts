import type { SagaStore } from '../../../libs/saga/src/engine/ports/saga-store.js';
import type { StoreSubject } from '../../contract/store-subject.contract.js';
import { until } from '../../support/gate.js';

/** So long after they noticed a failover (ms), processes claim sagas again. */
const NOTICED_BEFORE = 3_000;

/** A store as processes have it that notice a failover between their calls. */
export class FailingOverStore {
  readonly store: SagaStore;
  private lastFailoverAt = -Infinity;
  private isDown = false;
  private calls = 0;

  constructor(store: SagaStore) {
    this.store = new Proxy(store, {
      get: (_, name) => {
        if (name === 'lastFailoverAt') return this.lastFailoverAt;
        const value: unknown = Reflect.get(store, name, store);
        if (typeof value !== 'function') return value;
        const call = value.bind(store) as Call;
        return ABOUT_ERRORS.has(name) ? call : this.sent(call);
      },
    });
  }

  /** @param lose what makes the database lose commits */
  async failOver(lose: () => Promise<void>): Promise<void> {
    this.isDown = true;
    await until(() => this.calls === 0);
    await lose();
    this.isDown = false;
    // What they do not claim meanwhile, for those that put back, is tested in real time (test/chaos).
    this.lastFailoverAt = performance.now() - NOTICED_BEFORE;
  }

  private sent(call: Call): Call {
    return async (...given) => {
      if (this.isDown) throw Object.assign(new Error('the server shuts down'), { code: '57P01' });
      this.calls += 1;
      try {
        return await call(...given);
      } finally {
        this.calls -= 1;
      }
    };
  }
}

type Call = (...given: readonly unknown[]) => unknown;

const ABOUT_ERRORS: ReadonlySet<string | symbol> = new Set(['isOutage', 'isTransient', 'refuses']);

type Query = (sql: string) => Promise<Record<string, string>[]>;

/** How the database of a subject is asked. Undefined: it has none, and ends with its process. */
export function queryOf(subject: StoreSubject): Query | undefined {
  return 'query' in subject ? (subject.query as Query) : undefined;
}

/** Keeps all that the database has now. The result makes it lose every commit since. */
export async function keepAll(query: Query): Promise<() => Promise<void>> {
  const tables = await query(
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ', ') AS columns
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'saga' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER' GROUP BY table_name`,
  );
  const [{ schema }] = (await query(`SELECT 'kept' || txid_current() AS schema`)) as [{ schema: string }];
  const copies = tables.map(({ name }) => `CREATE TABLE ${schema}.${name} AS TABLE saga.${name}`);
  await query([`CREATE SCHEMA ${schema}`, ...copies].join(';'));
  const names = tables.map(({ name }) => `saga.${name}`).join(', ');
  const inserts = tables.map(
    ({ name, columns }) =>
      `INSERT INTO saga.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM ${schema}.${name}`,
  );
  const restore = ['SET LOCAL session_replication_role = replica', `TRUNCATE ${names}`, ...inserts];
  return async () => void (await query(['BEGIN', ...restore, 'COMMIT'].join(';')));
}
