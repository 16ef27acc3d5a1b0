import { ConsoleLogger } from '@nestjs/common';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Daemon } from '../../libs/declared/src/daemon/daemon.js';
import { openPool } from '../../libs/saga/src/store/postgres/connection/open-pool.js';
import { clientOf } from '../declared/support/served-folder.js';
import { saga } from '../cli/support/saga-bin.js';
import { type EmbeddedServer, startEmbeddedPostgres } from '../support/embedded-postgres.mjs';
import { until } from '../support/gate.js';

const GREET = 'saga: greet\nsteps:\n  say: { exec: { command: [echo, hello] } }\n';

let primary: EmbeddedServer;
let standby: EmbeddedServer;
let folder: string;

beforeAll(async () => {
  primary = await startEmbeddedPostgres();
  standby = await primary.startStandby();
  folder = await mkdtemp(join(tmpdir(), 'saga-hosts-'));
  await writeFile(join(folder, 'greet.yml'), GREET);
});

afterAll(async () => {
  await standby.stop();
  await primary.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The standby first. */
const listOf = (attributes: string): string =>
  primary.url
    .replace(`:${primary.port}/`, `:${standby.port},127.0.0.1:${primary.port}/`)
    .concat(`?target_session_attrs=${attributes}`);

/** The port of the server that a new pool leads to. */
async function portOf(connectionString: string): Promise<number> {
  const pool = openPool({ connectionString });
  // A server that is killed may still say so to a connection that is being closed.
  pool.on('error', () => undefined);
  try {
    const { rows } = await pool.query<{ port: string }>(`SELECT current_setting('port') AS port`);
    return Number(rows[0]!.port);
  } finally {
    await pool.end();
  }
}

test('a daemon finds the primary behind a standby, and lists from the standby that it is given', async () => {
  const daemon = await Daemon.start(
    {
      ...{ files: [join(folder, '*.yml')], url: listOf('read-write'), readFrom: standby.url },
      ...{ connections: 5, host: '127.0.0.1', port: 0, allowAnonymous: false, watch: false },
    },
    new ConsoleLogger({ logLevels: [] }),
  );
  try {
    const client = clientOf(daemon);
    const started = await client.post('/api/sagas', { saga: 'greet', input: {} });
    expect(started.status).toBe(200);
    await until(async () => {
      const { body } = await client.get('/api/sagas');
      const { items, asOf } = body as { items: { id: string; status: string }[]; asOf?: string };
      // A standby without the tables yet cannot be read: the primary answers for ten seconds.
      return asOf !== undefined && items[0]?.status === 'completed';
    });
    const listed = await saga(['list', '--json', '--url', listOf('read-write')]);
    expect(listed).toMatchObject({ code: 0, error: '' });
    expect(listed.out).toContain((started.body as { id: string }).id);
  } finally {
    await daemon.stop();
  }
});

test('a connection goes to the first host with the attributes, and to another one after a failover', async () => {
  expect(await portOf(listOf('read-write'))).toBe(primary.port);
  expect(await portOf(listOf('primary'))).toBe(primary.port);
  expect(await portOf(listOf('read-only'))).toBe(standby.port);
  expect(await portOf(listOf('standby'))).toBe(standby.port);
  expect(await portOf(listOf('any'))).toBe(standby.port);
  const only = `${standby.url.replace(':' + standby.port, `:${standby.port},127.0.0.1:${standby.port}`)}?target_session_attrs=primary`;
  await expect(portOf(only)).rejects.toMatchObject({ code: '25006' });
  await primary.halt('immediate');
  await expect(portOf(listOf('primary'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  expect(await portOf(listOf('any'))).toBe(standby.port);
  await standby.promote();
  await until(async () => (await portOf(listOf('read-write')).catch(() => 0)) === standby.port);
});
