// The memory of a process with many sagas of large payloads in flight: its input and each result are text of this size, of
// their own for each saga. First all of them are held in their last step, so that each has its input and the results of its
// other steps. Then as many are in flight in a closed loop, and the greatest of several looks counts. All after a collection,
// beyond the same process when it was idle.
// --sagas=5000 --bytes=10000 --loop=15000 sagas in each closed loop, more than --sagas --looks=5 in the second of two loops --warm=3000
import { randomBytes } from 'node:crypto';
import { liveMemory } from '../lib/live-memory.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const sagas = args.sagas ?? 5_000;
const bytes = args.bytes ?? 10_000;
const loop = args.loop ?? 15_000;
const looks = args.looks ?? 5;
const warm = args.warm ?? 3_000;
const STEPS = 3;
const MB = 2 ** 20;
const HELD = 'held in the last step';

const payload = () =>
  randomBytes(bytes)
    .toString('base64')
    .slice(0, bytes - 2);

/** Lets `expected` sagas arrive, and holds them until it is opened. */
class Barrier {
  #arrived = 0;
  #all = Promise.withResolvers();
  #open = Promise.withResolvers();
  full = this.#all.promise;

  constructor(expected) {
    this.expected = expected;
  }

  pass() {
    if (++this.#arrived === this.expected) this.#all.resolve();
    return this.#open.promise;
  }

  open() {
    this.#open.resolve();
  }
}

let barrier;
const Large = sagaOfSteps(STEPS, {
  async body(_ctx, n) {
    if (n === STEPS) await barrier?.pass();
    return payload();
  },
});

const load = (service, n) => closedLoop(service, Large, { n, window: sagas, input: payload });

/** What is live while all of them are in their last step. */
async function held(service) {
  barrier = new Barrier(sagas);
  const ran = load(service, sagas);
  await Promise.race([barrier.full, ran]);
  const memory = liveMemory();
  barrier.open();
  barrier = undefined;
  await ran;
  return memory;
}

/** The greatest of some looks during a closed loop, evenly apart. The first inputs only fill the window. */
async function running(service) {
  const every = Math.ceil((loop - sagas) / looks);
  const found = [];
  let sent = 0;
  const input = () => {
    sent += 1;
    if (sent > sagas && (sent - sagas) % every === 1) found.push(liveMemory());
    return payload();
  };
  await closedLoop(service, Large, { n: loop, window: sagas, input });
  return found.reduce((most, one) => (one.heap_mb > most.heap_mb ? one : most));
}

await run(async () => {
  const db = await createDatabase();
  // All of them run at once, where the default would let most of them wait with their input only.
  const worker = { concurrency: sagas };
  const { states, ran } = await withApp({ db, sagas: [Large], worker }, async (service) => {
    await load(service, warm);
    const states = { idle: liveMemory() };
    // Without looks, which are stalls of the event loop.
    const ran = await load(service, loop);
    states[HELD] = await held(service);
    states.running = await running(service);
    return { states, ran };
  });
  const complete = await allThere(db, { sagas: warm + sagas + 2 * loop });
  const ofIdle = states.idle.heap_mb + states.idle.external_mb;
  for (const [state, memory] of Object.entries(states))
    emit(
      {
        ...memory,
        beyond_idle_mb: memory.heap_mb + memory.external_mb - ofIdle,
        ...(state === HELD && { payload_mb: (sagas * bytes * STEPS) / MB }),
        ...(state === 'running' && { sagas_per_s: loop / ran.secs, ...ran.stalls }),
      },
      { state, sagas, bytes, complete },
    );
});
