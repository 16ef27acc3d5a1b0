import { randomBytes } from 'node:crypto';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { AesGcmCodec } from '../../../libs/saga/src/encryption.js';
import { Outbox, SagaMessagingModule } from '../../../libs/messaging/src/index.js';
import { SagaTelemetryModule } from '../../../libs/telemetry/src/index.js';
import { CollectedMetrics } from '../../telemetry/support/collected-metrics.js';
import { RecordedSpans } from '../../telemetry/support/recorded-spans.js';
import { wakeupChannel } from '../../../libs/saga/src/store/postgres/connection/schema-name.js';
import {
  describePrivateValues,
  leaks,
  PRIVATE_OPTIONS,
  PRIVATE_SAGAS,
  secret,
  show,
} from '../../support/private-scene.js';
import { type TestApp, TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const spans = RecordedSpans.ofThisFile();
const metrics = CollectedMetrics.ofThisFile();
const codec = new AesGcmCodec({ keys: { k: randomBytes(32) }, current: 'k' });

const METHODS = ['log', 'error', 'warn', 'debug', 'verbose', 'fatal'] as const;
const loggers = METHODS.map((name) => Logger.prototype[name]);
const send = pg.Client.prototype.query;
let listener: pg.Client;
async function showTables(): Promise<void> {
  const tables = await apps.sql<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`,
  );
  for (const { name } of tables)
    show(`table ${name}`, ...(await apps.sql<{ row: string }>(`SELECT t::text AS row FROM ${name} t`)));
}

/** What any statement sends, is in any table, is notified, logged, traced or measured. */
async function leaksOfAll(): Promise<string[]> {
  await showTables();
  for (const span of spans.all)
    show(
      'a span',
      span.name,
      span.attributes,
      span.status,
      span.events.map((event) => event.attributes),
    );
  show('a metric', [...(await metrics.collect()).values()]);
  return leaks();
}

describe('with a codec, no value that an application or an operator gave is readable outside of the process', () => {
  let app: TestApp;
  beforeAll(async () => {
    for (const name of METHODS)
      Logger.prototype[name] = (...given: unknown[]) => show('a log line', ...given);
    pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
      const [statement, values] = given as [{ values?: unknown; text?: unknown } | string, unknown];
      const { text, values: own } = typeof statement === 'string' ? { text: statement, values } : statement;
      show(`a parameter of ${String(text).slice(0, 60)}`, own, values);
      return (send as (...all: unknown[]) => unknown).apply(this, given);
    } as typeof send;
    listener = new pg.Client({ connectionString: apps.url });
    await listener.connect();
    listener.on('notification', ({ payload }) => show('a notification', payload));
    await listener.query(`LISTEN "${wakeupChannel('saga')}"`);
  });
  afterAll(async () => {
    METHODS.forEach((name, n) => (Logger.prototype[name] = loggers[n]!));
    pg.Client.prototype.query = send;
    await listener.end();
  });

  beforeEach(async () => {
    app = await apps.start({
      sagas: PRIVATE_SAGAS,
      imports: [
        SagaMessagingModule.forRoot({ relay: false }),
        SagaTelemetryModule.forRoot({ gauges: false }),
      ],
      options: { codec, ...PRIVATE_OPTIONS },
    });
  });
  afterEach(async () => {
    expect(await leaksOfAll()).toEqual([]);
  });

  describePrivateValues(() => ({
    app,
    rests: async (id) => {
      const rests = 'SELECT 1 FROM saga.instance WHERE id = $1 AND locked_by IS NULL AND due_at > now()';
      return (await apps.sql(rests, [id])).length === 1;
    },
    loseWorker: async (id) => {
      await apps.sql(
        `UPDATE saga.instance SET epoch = epoch + 1, locked_by = 'lost', leased_at = now() - interval '1h', due_at = now(),
           rank_at = now() WHERE id = $1`,
        [id],
      );
    },
    showKept: showTables,
  }));

  test('of messages of the application', () =>
    app.dataSource.transaction((manager) =>
      app.nest.get(Outbox).publish(manager, { topic: 'own', payload: secret('payload of the application') }),
    ));
});
