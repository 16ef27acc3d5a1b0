// Two databases, one as it is and one that something was done to, under the same load in turns: the machine's mood is the
// same for both, and so is what the load itself leaves behind.
import { args, createApp, createDatabase, emit } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { vacuumSagas } from '../lib/multiply.mjs';
import { allThere } from './stored.mjs';

/**
 * @param plain the saga of which n run each time
 * @param others what the applications have beside it
 * @param options of SagaModule, of both
 * @param fill ({ db, service }) => what is done to the second
 */
export async function sideBySide({ plain, others, n, reps, fill, params, options }) {
  const sagasOfBoth = [plain, ...others];
  const made = [await open(sagasOfBoth, options), await open(sagasOfBoth, options)];
  const [bare, filled] = made;
  await fill(filled);
  for (const { db } of made) await vacuumSagas(db);
  for (const { service } of made) await closedLoop(service, plain, { n: warmUp(n) });
  const rounds = [];
  for (let rep = 0; rep < reps; rep += 1) {
    // Another one goes first each time.
    const order = rep % 2 === 0 ? [bare, filled] : [filled, bare];
    const ran = new Map();
    for (const app of order) ran.set(app, await closedLoop(app.service, plain, { n }));
    rounds.push(made.map((app) => ran.get(app)));
  }
  for (const app of made) await app.close();
  const sagas = warmUp(n) + reps * n;
  let complete = true;
  for (const { db } of made) complete &&= await allThere(db, { sagas, mixed: true });
  for (const [rep, [without, with_]] of rounds.entries())
    emit(
      {
        without_sagas_per_s: n / without.secs,
        sagas_per_s: n / with_.secs,
        to_without_ratio: without.secs / with_.secs,
        ...with_.stalls,
      },
      { ...params, n, complete, round: reps === 1 ? undefined : rep + 1 },
    );
}

const warmUp = (n) => Math.min(3_000, n);

async function open(sagas, options) {
  const db = await createDatabase();
  const app = await createApp({ db, sagas, options, worker: { concurrency: args.conc ?? 1_000 } });
  return { db, ...app };
}
