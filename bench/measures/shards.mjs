// What a saga costs with four servers, beside one server: each side has servers of its own with the same settings, and one
// application, which is a process of its own. Both sides run the same sagas in turns, with as many in flight on each server, and
// 10 connections to each. Two kinds of saga: three steps that do nothing, and the five steps of the order demo's saga. All servers
// share the disk and the processors.
// --servers=4 --kinds=plain,order --windows=250,1000 in flight on each server --n=20000 in each turn (half as many orders) --rounds=5
// --warm=3000
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startServer } from '../server.mjs';
import { args, emit, numbers, run } from './lib.mjs';
import { KINDS as ALL_KINDS, serve } from './shards/application.mjs';
import { Servers } from './shards/servers.mjs';

const SELF = fileURLToPath(import.meta.url);
const count = args.servers ?? 4;
const n = args.n ?? 20_000;
const rounds = args.rounds ?? 5;
const warm = args.warm ?? 3_000;
const KINDS = args.kinds?.split(',') ?? ALL_KINDS;
/** An order has five steps, of which two are transactions of their own. */
const sagasOf = { plain: n, order: Math.ceil(n / 2) };

/** One server or several, with the application over them. */
class Side {
  constructor(servers) {
    this.servers = servers;
  }

  get name() {
    const { length } = this.servers.urls;
    return length === 1 ? '1 server' : `${length} servers`;
  }

  async open() {
    await this.servers.prepare();
    this.child = fork(SELF, this.servers.urls, { execArgv: process.execArgv });
    this.ended = once(this.child, 'exit').then(([code]) => {
      throw new Error(`the application of ${this.name} ended with ${code}`);
    });
    // close() ends it, and nothing waits for it then.
    this.ended.catch(() => undefined);
    await this.answer();
  }

  async work({ window, ...load }) {
    this.child.send({ ...load, window: window * this.servers.urls.length });
    return this.answer();
  }

  /** The costs of each saga of a load, of both processors and of the servers' logs. */
  async costing(load) {
    const before = await this.servers.counted();
    const { secs, cpu, times, stalls } = await this.work(load);
    const used = await this.servers.since(before);
    const node = (1e6 * cpu) / load.n;
    const server = (1e6 * used.cpu) / load.n;
    return {
      sagas_per_s: load.n / secs,
      ...times,
      write_tx_per_saga: used.commits / load.n,
      wal_fsyncs_per_saga: used.fsyncs / load.n,
      record_bytes_per_saga: used.records / load.n,
      node_cpu_us_per_saga: node,
      server_cpu_us_per_saga: server,
      cpu_us_per_saga: node + server,
      ...stalls,
    };
  }

  /** What the application says next. */
  async answer() {
    const [message] = await Promise.race([once(this.child, 'message'), this.ended]);
    return message;
  }

  async close() {
    if (this.child?.connected) {
      this.child.disconnect();
      await once(this.child, 'exit');
    }
    await this.servers.stop();
  }
}

const RATIOS = {
  cpu_ratio: 'cpu_us_per_saga',
  wal_ratio: 'record_bytes_per_saga',
  commits_ratio: 'write_tx_per_saga',
};

const ratiosOf = (costs, one) =>
  Object.fromEntries(Object.entries(RATIOS).map(([ratio, metric]) => [ratio, costs[metric] / one[metric]]));

/** One load on both sides. Another one goes first in each round. */
async function together(sides, load) {
  for (const side of sides) await side.work({ ...load, n: Math.min(warm, load.n) });
  const measured = [];
  for (let round = 0; round < rounds; round += 1) {
    const costs = new Map();
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      costs.set(side, await side.costing(load));
    measured.push(costs);
  }
  return measured;
}

function report(sides, { kind, window, n: sagas }, measured, complete) {
  const flight = `${window.toLocaleString('en')} in flight on each`;
  for (const [round, costs] of measured.entries())
    for (const side of sides)
      emit(
        { ...costs.get(side), ...ratiosOf(costs.get(side), costs.get(sides[0])) },
        {
          load: `${kind}, ${flight}, ${side.name}`,
          ...{ kind, in_flight: window, servers: side.servers.urls.length },
          ...{ n: sagas, complete, round: round + 1 },
        },
      );
}

/** Every load, and how many sagas of each kind have then run. */
async function measure(sides) {
  for (const side of sides) await side.open();
  const ran = [];
  const total = { plain: 0, order: 0 };
  for (const window of numbers(args.windows ?? '250,1000'))
    for (const kind of KINDS) {
      const load = { kind, window, n: sagasOf[kind] };
      ran.push([load, await together(sides, load)]);
      total[kind] += Math.min(warm, load.n) + rounds * load.n;
    }
  let complete = true;
  for (const side of sides) complete = (await side.servers.allThere(total)) && complete;
  for (const [load, measured] of ran) report(sides, load, measured, complete);
}

if (process.send) await serve(process.argv.slice(2));
else
  await run(async () => {
    const sides = [];
    try {
      for (const size of [1, count]) {
        const started = [];
        sides.push(new Side(new Servers(started)));
        while (started.length < size) started.push(await startServer());
      }
      await measure(sides);
    } finally {
      for (const side of sides) await side.close();
    }
  });
