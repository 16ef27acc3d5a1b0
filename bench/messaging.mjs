// node bench/messaging.mjs [--rounds=3] [--count=100000] [--only=rabbitmq|jetstream] [--no-build]: see README.md
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { AGGREGATES, Arrivals, messageOf } from './messaging/load.mjs';
import { startServer } from './server.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const GOAL = 0.5;
/** Messages of one transaction, when the outbox is filled. */
const FILL = 1_000;

const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    count: { type: 'string', default: '100000' },
    only: { type: 'string' },
    data: { type: 'string' },
    'no-build': { type: 'boolean', default: false },
  },
});
const rounds = Number(flags.rounds);
const count = Number(flags.count);

function run(command, args, env = process.env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], env, cwd: at('..') });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${args.join(' ')}: ${code}`)),
    );
  });
}

const measure = async (way, broker, name, env) => {
  const output = await run(
    process.execPath,
    [at('messaging/measure.mjs'), way, broker, name, String(count)],
    env,
  );
  return count / Number(/SECONDS (.*)/.exec(output)[1]);
};

/** A nats-server with JetStream of the benchmark's own, unless NATS_URL says where one is. */
async function startNats() {
  if (process.env.NATS_URL) return () => undefined;
  const folder = mkdtempSync(join(tmpdir(), 'saga-bench-nats-'));
  const port = await freePort();
  const child = spawn('nats-server', ['-js', '-a', '127.0.0.1', '-p', String(port), '-sd', folder], {
    stdio: 'ignore',
  });
  const there = await new Promise((resolve) => {
    child.once('error', () => resolve(false));
    setTimeout(() => resolve(true), 1_000);
  });
  if (there) process.env.NATS_URL = `127.0.0.1:${port}`;
  return () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

/** As sagas do it: many messages a transaction. */
async function fillOutbox(sql, topic) {
  for (let first = 0; first < count; first += FILL) {
    const messages = Array.from({ length: Math.min(FILL, count - first) }, (_, n) => messageOf(first + n));
    await sql.query(
      `SELECT saga.publish(ARRAY(SELECT gen_random_uuid() FROM unnest($2::text[])), array_fill($1::text, ARRAY[cardinality($2)]),
        $2, array_fill('bench'::text, ARRAY[cardinality($2)]), $3::json[], array_fill('{}'::jsonb, ARRAY[cardinality($2)]))`,
      [topic, messages.map(({ key }) => key), messages.map(({ payload }) => JSON.stringify(payload))],
    );
  }
}

async function verify(broker, name, extra) {
  const arrivals = new Arrivals();
  await broker.receive(name, count + extra, (payload) => {
    if (payload.orderId !== 'warm') arrivals.take(payload);
  });
  if (arrivals.arrived !== count) throw new Error(`${arrivals.arrived} of ${count} arrived`);
  return arrivals.repeats;
}

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) / 2)];
const spread = (values, digits) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;

async function main() {
  if (!flags['no-build']) await run('npm', ['run', 'build:libs']);
  const stopNats = await startNats();
  const server = await startServer(flags.data);
  const env = { ...process.env, PGURL: server.url };
  let missed = 0;
  try {
    await run(process.execPath, [at('messaging/migrate.mjs')], env);
    const sql = new pg.Client({ connectionString: server.url });
    await sql.connect();
    for (const broker of ['rabbitmq', 'jetstream']) {
      if (flags.only !== undefined && flags.only !== broker) continue;
      const module = await import(`./messaging/${broker}.mjs`);
      if (!(await module.reachable())) {
        console.log(`${broker}: cannot be reached, skipped`);
        continue;
      }
      const figures = { plain: [], relay: [], ratio: [] };
      let repeats = 0;
      for (let round = 1; round <= rounds; round += 1) {
        for (const way of round % 2 ? ['plain', 'relay'] : ['relay', 'plain']) {
          const name = `bench-${randomBytes(4).toString('hex')}`;
          await module.prepare(name);
          if (way === 'relay') await fillOutbox(sql, name);
          figures[way].push(await measure(way, broker, name, env));
          repeats += await verify(module, name, way === 'plain' ? 1 : 0);
        }
        figures.ratio.push(figures.relay.at(-1) / figures.plain.at(-1));
        console.error(
          `${broker}, round ${round}: plain ${figures.plain.at(-1).toFixed(0)}/s, relay ${figures.relay.at(-1).toFixed(0)}/s`,
        );
      }
      const reached = median(figures.ratio) >= GOAL;
      if (!reached) missed += 1;
      console.log(
        `${broker}: ${count} messages of ${AGGREGATES} aggregates, ${rounds} round(s), median (min–max): plain client ` +
          `${spread(figures.plain, 0)}/s, relay ${spread(figures.relay, 0)}/s, ratio ${spread(figures.ratio, 2)} ` +
          `(wanted ≥ ${GOAL}) ${reached ? 'PASS' : 'MISSED'}; all arrived, in order per aggregate, ${repeats} repeat(s)`,
      );
    }
    await sql.end();
  } finally {
    await server.stop();
    stopNats();
  }
  console.log(
    `${cpus().length} processors, Node ${process.versions.node}, PostgreSQL 18 and the broker on the same machine`,
  );
  process.exitCode = missed > 0 ? 1 : 0;
}

await main();
