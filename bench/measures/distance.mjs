// The engine with a database that is further away: latency is added to each round trip between Node and PostgreSQL by a proxy,
// which is a process of its own and runs for 0 ms as well. Each delay has an application and a database, with the default
// options; they run in turns, so that the state of the machine is the same for all.
// --delays=0,0.2,0.5,1,2,5,10 ms, the first is what the others are compared with --windows=1,1000 --n=12000 in each turn (fewer of
// them in small windows) --turns=4 --warm=3000
import { connect, dbUrl } from '../lib/database.mjs';
import { delayed } from '../lib/delaying-proxy.mjs';
import { now, percentile } from '../lib/figures.mjs';
import { worstOf } from '../lib/stalls.mjs';
import { args, createApp, createDatabase, emit, numbers, run } from './lib.mjs';
import { closedLoop, latencies } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 12_000;
const turns = args.turns ?? 4;
const warm = args.warm ?? 3_000;
const delays = numbers(args.delays ?? '0,0.2,0.5,1,2,5,10');
const Plain = sagaOfSteps(3);

async function open(delay) {
  const db = await createDatabase();
  const proxy = await delayed(dbUrl(db), delay);
  const worker = { concurrency: undefined };
  const app = await createApp({ db, sagas: [Plain], worker, url: proxy.url });
  const close = async () => {
    await app.close();
    await proxy.close();
  };
  return { delay, db, service: app.service, close, trip: await roundTrip(proxy.url), ran: [] };
}

/** p50 of statements that do nothing, in ms: whether the delay is what it should be. */
async function roundTrip(url) {
  const c = await connect(url);
  const times = [];
  while (times.length < 200) {
    const began = now();
    await c.query({ name: 'nothing', text: 'SELECT 1' });
    times.push(now() - began);
  }
  await c.end();
  return percentile(times, 0.5);
}

function figuresOf({ ran, trip }, near) {
  const rate = rateOf(ran);
  return {
    round_trip_ms: trip,
    sagas_per_s: rate,
    to_near_ratio: rate / rateOf(near.ran),
    ...latencies(ran.flatMap(({ times }) => times)),
    ...worstOf(ran.map(({ stalls }) => stalls)),
  };
}

const sum = (xs) => xs.reduce((a, b) => a + b, 0);
const rateOf = (ran) => sum(ran.map((one) => one.n)) / sum(ran.map(({ secs }) => secs));

async function withWindow(window) {
  const count = Math.ceil(n * Math.min(1, window / 100));
  const warming = Math.min(warm, count);
  const all = [];
  for (const delay of delays) all.push(await open(delay));
  for (const { service } of all) await closedLoop(service, Plain, { n: warming, window });
  for (let turn = 0; turn < turns; turn += 1)
    // Another one goes first each time.
    for (let k = 0; k < all.length; k += 1) {
      const one = all[(k + turn) % all.length];
      one.ran.push(await closedLoop(one.service, Plain, { n: count, window }));
    }
  for (const { close } of all) await close();
  const flight = `${window.toLocaleString('en')} in flight`;
  for (const one of all) {
    const there = await allThere(one.db, { sagas: warming + turns * count });
    const params = { link: `${one.delay} ms, ${flight}`, delay_ms: one.delay, in_flight: window };
    emit(figuresOf(one, all[0]), { ...params, n: turns * count, complete: there && one.trip >= one.delay });
  }
}

await run(async () => {
  for (const window of numbers(args.windows ?? '1,1000')) await withWindow(window);
});
