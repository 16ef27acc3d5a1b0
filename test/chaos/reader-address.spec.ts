import { Saga, Step } from '../../libs/saga/src/index.js';
import { AnsweringProxy } from '../support/answering-proxy.js';
import { until } from '../support/gate.js';
import { type TestApp, TestApps } from '../support/test-app.js';
import { ServerPair } from './rig/src/server-pair.js';
import pg from 'pg';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class Order {
  @Step() reserve() {}
}

/** As on servers that are compatible with PostgreSQL, and have not its functions. */
const WITHOUT_FUNCTIONS = {
  'a function that does not exist': '42883',
  'a function that is not supported': '0A000',
  'a function that is switched off': '55000',
};

let pair: ServerPair;
let address: AnsweringProxy;
let app: TestApp;
beforeEach(async () => {
  pair = await ServerPair.start('async');
  address = await AnsweringProxy.before(pair.primary.url);
});
afterEach(async () => {
  await app.close();
  await address.close();
  await pair.stop();
});

async function sessionsOnStandby(): Promise<number> {
  const client = new pg.Client({ connectionString: pair.standby.url });
  await client.connect();
  const { rows } = await client.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity
     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND NOT query LIKE 'LISTEN%'`,
  );
  await client.end();
  return rows[0]!.n;
}

test.each(Object.entries(WITHOUT_FUNCTIONS))(
  'a connection to a reader is not kept, although the server answers %s to the question for its timeline',
  async (_, code) => {
    const sent: string[] = [];
    address.answerTo = (text) => {
      sent.push(text);
      return text.includes('pg_control_system') ? { code } : undefined;
    };
    app = await apps.start({
      sagas: [Order],
      dataSource: { url: address.url, poolSize: 4 },
      options: { worker: { pollInterval: 50 } },
    });
    expect((await app.operations.stats()).timelineGuard).toBe('off');
    expect((await (await app.sagas.start(Order, {})).outcome()).status).toBe('completed');
    address.pointTo(pair.standby.url);
    address.cut();
    sent.length = 0;
    // Claims, leases and the relay come to the reader, as does the start.
    const started = app.sagas.start(Order, {});
    await until(async () => (await sessionsOnStandby()) > 0);
    expect(sent.splice(0).filter((text) => /claim|start|checkpoint/.test(text))).toEqual([]);
    // Connections to the reader stay where they are.
    address.pointTo(pair.primary.url);
    const handles = await Promise.all([
      started,
      ...Array.from({ length: 8 }, () => app.sagas.start(Order, {}, { delay: 1 })),
    ]);
    for (const { outcome } of handles) expect((await outcome({ timeout: '30s' })).status).toBe('completed');
    await until(async () => (await sessionsOnStandby()) === 0);
  },
);
