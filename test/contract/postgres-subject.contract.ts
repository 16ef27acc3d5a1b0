import pg from 'pg';
import { DataSource } from 'typeorm';
import { createTestDatabase } from '../support/test-database.js';
import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { StoreSubject } from './store-subject.contract.js';
import { migrate } from '../../libs/saga/src/store/postgres/setup/migrate.js';
import type { SagaMigrationsOptions } from '../../libs/saga/src/store/postgres/schema/saga-migrations.js';
import { postgresBackend } from '../../libs/saga/src/nest/database-runtime.js';
import { PostgresSagaStore } from '../../libs/saga/src/store/postgres/postgres-saga-store.js';
import { wakeupChannel } from '../../libs/saga/src/store/postgres/connection/schema-name.js';
import { sqlOf } from '../../libs/saga/src/store/postgres/typeorm/typeorm-database.js';
import { partitionedNeeds } from '../../libs/saga/src/store/postgres/setup/needs.js';
import type { PgClient } from '../../libs/saga/src/store/postgres/connection/pg-types.js';

const SCHEMA = 'saga';
/** Small, so that the suite can go over it with little data. */
const PAGE_BYTES = 256 * 1024;
/** Longer than any statement of the suite takes. */
const PATIENCE = 60_000;
const SILENT = { debug() {}, log() {}, warn() {}, error() {} };
const INSTANCE_TIMES = [
  'due_at',
  'rank_at',
  'cancel_requested_at',
  'sla_at',
  'starts_at',
  'created_at',
  'updated_at',
  'finished_at',
];
const STEP_TIMES = ['retry_at', 'started_at', 'updated_at'];

/**
 * A store over a database of its own.
 * @param around what is tested instead, over it
 * @param options of its tables, and the address at which the store reaches the database (default: its own)
 */
export async function postgresSubject(
  around: (store: SagaStore) => SagaStore = (store) => store,
  options: SagaMigrationsOptions & { readonly reachedAt?: (url: string) => Promise<string> } = {},
): Promise<StoreSubject & { readonly query: (sql: string) => Promise<Record<string, unknown>[]> }> {
  const database = await createTestDatabase();
  const application = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  const url = await options.reachedAt?.(database.url);
  const reached =
    url === undefined ? application : await new DataSource({ type: 'postgres', url }).initialize();
  const answers = new AnswerSizes(reached);
  const sql = sqlOf(reached);
  await migrate(sql, SCHEMA, options.partitions ? partitionedNeeds(options.partitions) : undefined);
  const messages: WakeupMessage[] = [];
  const listener = new pg.Client({ connectionString: database.url });
  await listener.connect();
  listener.on('notification', ({ payload }) => {
    const [type, id] = payload!.split(':') as [WakeupMessage['type'], string];
    messages.push(type === 'due' ? { type } : { type, id });
  });
  await listener.query(`LISTEN ${wakeupChannel(SCHEMA)}`);
  const shift = (table: string, columns: string[], ms: number) =>
    application.query(
      `UPDATE ${SCHEMA}.${table} SET ` +
        columns.map((column) => `${column} = ${column} - ${ms} * interval '1 millisecond'`).join(', '),
    );
  const shiftJson = async (table: string, paths: string[], ms: number) => {
    for (const path of paths)
      await application.query(
        `UPDATE ${SCHEMA}.${table} SET progress = jsonb_set(progress::jsonb, '${path}',
           to_jsonb((progress #>> '${path}')::float8 - ${ms}))::json WHERE progress #>> '${path}' IS NOT NULL`,
      );
  };
  return {
    ...postgresBackend(sql, { schema: SCHEMA }, PATIENCE, SILENT),
    store: around(new PostgresSagaStore(sql, SCHEMA, { pageBytes: PAGE_BYTES })),
    pageBytes: PAGE_BYTES,
    largestAnswerTo: (work) => answers.largestAnswerTo(work),
    query: (sql) => application.query(sql),
    messages,
    outbox: () =>
      application.query(
        `SELECT id, aggregatetype AS topic, aggregateid AS key, type, payload::text AS payload, headers
         FROM ${SCHEMA}.outbox ORDER BY seq`,
      ),
    advance: async (ms) => {
      await shift('instance', INSTANCE_TIMES, ms);
      await shift('step', STEP_TIMES, ms);
      await shiftJson('instance', ['{turn,at}'], ms);
      await shiftJson('step', ['{permit}', '{wait,until}', '{wait,since}', '{slot,since}'], ms);
      await shift('operation', ['at'], ms);
      await shift('signal', ['sent_at'], ms);
      await shift('graph', ['upgrade_at'], ms);
      await shift('schedule', ['decided_until', 'next_at', 'paused_at', 'last_at', 'skipped_at'], ms);
      await shift('deleted', ['at'], ms);
      await shift('step_limit', ['checked_at'], ms);
      await shift('step_slot', ['since', 'called_at'], ms);
      await application.query(
        `UPDATE ${SCHEMA}.rate_limit SET times = ARRAY(SELECT t - ${ms} FROM unnest(times) WITH ORDINALITY AS w(t, n) ORDER BY n), from_at = from_at - ${ms}, idle_at = idle_at - ${ms}`,
      );
      await application.query(`UPDATE ${SCHEMA}.rate_time SET at = at - ${ms}`);
    },
    close: async () => {
      await listener.end();
      for (const source of new Set([reached, application])) await source.destroy();
      await database.drop();
    },
  };
}

/** How large the answers of the server are. */
class AnswerSizes {
  private readonly watched = new WeakSet<PgClient>();
  private largest: number | undefined;

  constructor(application: DataSource) {
    sqlOf(application).pool.on('acquire', (client) => this.watch(client));
  }

  async largestAnswerTo(work: () => Promise<unknown>): Promise<number> {
    this.largest = 0;
    await work();
    const { largest } = this;
    this.largest = undefined;
    return largest;
  }

  private watch(client: PgClient): void {
    if (this.watched.has(client)) return;
    this.watched.add(client);
    const query = client.query.bind(client) as (...call: unknown[]) => Promise<{ rows?: unknown[] }>;
    Object.assign(client, {
      query: (...call: unknown[]) => {
        const answer = query(...call);
        if (this.largest !== undefined && typeof answer?.then === 'function')
          void answer.then(
            ({ rows = [] }) => this.measured(rows),
            () => undefined,
          );
        return answer;
      },
    });
  }

  private measured(rows: readonly unknown[]): void {
    if (this.largest !== undefined) this.largest = Math.max(this.largest, JSON.stringify(rows).length);
  }
}
