// Memory over a long time of steady load: what is left on the heap after a collection, minute by minute. The load is mixed:
// sagas that complete, that roll back, whose steps fail twice, and that wait for a signal, beside sagas that wait all the time.
// --minutes=60 --rate=500 sagas a second --slice=60 seconds --waiting=1000 all the time
import { now, sleep } from '../lib/figures.mjs';
import { liveMemory } from '../lib/live-memory.mjs';
import { watchStalls } from '../lib/stalls.mjs';
import { windowed } from '../lib/windowed.mjs';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { openLoop, seeded } from './loops.mjs';
import { failingSaga, refusedSaga, sagaOfSteps, waitingSaga } from './sagas.mjs';
import { allThere } from './stored.mjs';

const minutes = args.minutes ?? 60;
const rate = args.rate ?? 500;
const slice = 1_000 * (args.slice ?? 60);
const waiting = args.waiting ?? 1_000;
/** ms after the start of a saga until it is signalled, at most; half of the signals are sent at once. */
const LATEST_SIGNAL = 3_000;
/** Never signalled. */
const Unsignalled = waitingSaga('unsignalled');
const Signalled = waitingSaga('signalled');

/** What each kind has to be in the database in the end; `part` of all sagas. */
const KINDS = [
  { part: 0.6, saga: sagaOfSteps(3, { name: 'plain' }), stored: { name: 'plain' } },
  {
    part: 0.1,
    saga: refusedSaga(3, 'refused'),
    stored: { name: 'refused', status: 'compensated', stepStatus: ['completed', 'failed'] },
  },
  { part: 0.1, saga: failingSaga(3, 'failing'), stored: { name: 'failing' } },
  { part: 0.2, saga: Signalled, stepsOfEach: 2, stored: { name: 'signalled' } },
];

/** Sends sagas of all kinds, by chance, and counts them. */
class Mix {
  counts = new Map(KINDS.map((kind) => [kind, 0]));
  #service;
  #random;

  constructor(service, random) {
    this.#service = service;
    this.#random = random;
  }

  send = async (i) => {
    const kind = this.#kind(this.#random());
    this.counts.set(kind, this.counts.get(kind) + 1);
    const handle = await this.#service.start(kind.saga, { i });
    if (kind.saga === Signalled) await this.#signal(handle.id);
    return handle.outcome();
  };

  #kind(chance) {
    for (const kind of KINDS) {
      if (chance < kind.part) return kind;
      chance -= kind.part;
    }
    return KINDS[0];
  }

  async #signal(id) {
    const later = Math.max(0, 2 * this.#random() - 1) * LATEST_SIGNAL;
    if (later > 0) await sleep(later);
    await this.#service.signal(id, 'reply', { later });
  }
}

async function load(service, slices) {
  await windowed(0, waiting, 100, (i) => service.start(Unsignalled, { i }));
  const mix = new Mix(service, seeded((args.seed ?? 1) + 1));
  const began = now();
  // Stalls are those between two looks, since a look is one itself.
  let endWatch = await watchStalls();
  const look = async () => {
    const stalls = await endWatch();
    slices.push({ minute: (now() - began) / 60_000, ...liveMemory(), ...stalls });
    endWatch = await watchStalls();
  };
  const timer = setInterval(() => void look(), slice);
  const ran = await openLoop(service, undefined, {
    rate,
    random: seeded(args.seed ?? 1),
    goesOn: (gone) => gone < 60_000 * minutes,
    keepTimes: false,
    send: mix.send,
  });
  clearInterval(timer);
  return { ...ran, counts: mix.counts };
}

/** All of each kind, and those that wait still do. */
async function allOf(db, counts) {
  let complete = await allThere(db, {
    ...{ name: 'unsignalled', status: 'running', mixed: true },
    ...{ sagas: waiting, steps: waiting },
  });
  for (const [{ stored, stepsOfEach = 3 }, sagas] of counts)
    complete =
      (await allThere(db, { sagas, steps: sagas * stepsOfEach, mixed: true, ...stored })) && complete;
  return complete;
}

await run(
  async () => {
    const db = await createDatabase();
    const slices = [];
    const sagas = [...KINDS.map(({ saga }) => saga), Unsignalled];
    const { n, secs, counts } = await withApp({ db, sagas }, (service) => load(service, slices));
    const complete = await allOf(db, counts);
    for (const { minute, ...figures } of slices)
      emit(figures, { minute: Math.round(100 * minute) / 100, rate, complete });
    emit({ sagas_per_s: n / secs }, { rate, n, complete });
  },
  60 * minutes + 900,
);
