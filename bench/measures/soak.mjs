// Memory over a long time of steady load: what is left on the heap after a collection, minute by minute. The load is mixed:
// sagas that complete, that roll back, whose steps fail twice, and that wait for a signal, beside sagas that wait all the time
// and a saga that a schedule starts each second. Some sagas are watched, and so are some of those that wait.
// --minutes=60 --rate=500 sagas a second --slice=60 seconds --waiting=1000 all the time, of which --watched=100 are watched
import { now, sleep } from '../lib/figures.mjs';
import { liveMemory } from '../lib/live-memory.mjs';
import { watchStalls } from '../lib/stalls.mjs';
import { windowed } from '../lib/windowed.mjs';
import { Step } from '../../libs/saga/dist/index.js';
import { args, createDatabase, emit, run, withApp } from './lib.mjs';
import { openLoop, seeded } from './loops.mjs';
import { failingSaga, refusedSaga, sagaOfSteps, sagaWith, waitingSaga } from './sagas.mjs';
import { allThere, counted } from './stored.mjs';

const minutes = args.minutes ?? 60;
const rate = args.rate ?? 500;
const slice = 1_000 * (args.slice ?? 60);
const waiting = args.waiting ?? 1_000;
const watched = Math.min(waiting, args.watched ?? 100);
/** This part of the sagas that end is watched. */
const WATCHED_PART = 0.05;
/** The schedule has to have started a saga in this part of the seconds. */
const SCHEDULED_PART = 0.9;
/** ms after the start of a saga until it is signalled, at most; half of the signals are sent at once. */
const LATEST_SIGNAL = 3_000;
/** Never signalled. */
const Unsignalled = waitingSaga('unsignalled');
const Signalled = waitingSaga('signalled');

/** Each second. */
const Scheduled = sagaWith({ name: 'scheduled', schedule: { cron: '* * * * * *' } }, { act: Step() });

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
  watchers = 0;
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
    const seen = this.#random() < WATCHED_PART ? this.#seesTheEndOf(handle.id) : undefined;
    if (kind.saga === Signalled) await this.#signal(handle.id);
    await handle.outcome();
    await seen;
  };

  #seesTheEndOf(id) {
    this.watchers += 1;
    return new Promise((resolve, reject) =>
      this.#service.watch(id).subscribe({ complete: resolve, error: reject }),
    );
  }

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
  const watches = [];
  await windowed(0, waiting, 100, async (i) => {
    const { id } = await service.start(Unsignalled, { i });
    if (i < watched) watches.push(service.watch(id).subscribe());
  });
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
  for (const watch of watches) watch.unsubscribe();
  return { ...ran, counts: mix.counts, watchers: mix.watchers };
}

async function schedulesRan(db, secs) {
  const { sagas } = await counted(db, { name: 'scheduled', mixed: true });
  if (sagas >= SCHEDULED_PART * (secs - 2)) return true;
  console.error(`The schedule started ${sagas} sagas in ${Math.round(secs)} s`);
  return false;
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
    const sagas = [...KINDS.map(({ saga }) => saga), Unsignalled, Scheduled];
    const { n, secs, counts, watchers } = await withApp({ db, sagas }, (service) => load(service, slices));
    const complete = (await allOf(db, counts)) && (await schedulesRan(db, secs)) && watchers > 0;
    for (const { minute, ...figures } of slices)
      emit(figures, { minute: Math.round(100 * minute) / 100, rate, complete });
    emit({ sagas_per_s: n / secs }, { rate, n, complete });
  },
  60 * minutes + 900,
);
