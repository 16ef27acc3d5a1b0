// Inputs and results of some size: four payloads a saga, of text that cannot be compressed.
// --bytes=100,10000,1000000 --n=30000 of the smallest --megabytes=600 at most --window=1000
import { randomBytes } from 'node:crypto';
import { costing } from './costing.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { sagaOfSteps } from './sagas.mjs';
import { allThere } from './stored.mjs';

const n = args.n ?? 30_000;
const most = 1e6 * (args.megabytes ?? 600);
const window = args.window ?? 1_000;
const PAYLOADS = 4;
/** What is in flight together, in bytes: a process holds it several times over. */
const IN_FLIGHT = 64e6;

async function ofBytes(bytes) {
  const db = await createDatabase();
  const text = randomBytes(bytes)
    .toString('base64')
    .slice(0, bytes - 2);
  const Plain = sagaOfSteps(3, { body: () => text });
  const count = Math.max(20, Math.min(n, Math.floor(most / PAYLOADS / bytes)));
  const places = Math.max(4, Math.min(window, Math.floor(IN_FLIGHT / PAYLOADS / bytes)));
  const warm = Math.ceil(count / 10);
  const load = (n) => (service) => closedLoop(service, Plain, { n, window: places, input: () => text });
  const ran = await withApp({ db, sagas: [Plain] }, async (service) => {
    await load(warm)(service);
    return costing(db, () => load(count)(service));
  });
  emit(
    {
      sagas_per_s: count / ran.secs,
      mb_per_s: (count * PAYLOADS * bytes) / 1e6 / ran.secs,
      wal_bytes_per_saga: ran.costs.wal_bytes_per_saga,
      ...ran.stalls,
    },
    { bytes, in_flight: places, n: count, complete: await allThere(db, { sagas: warm + count }) },
  );
}

await run(async () => {
  for (const bytes of numbers(args.bytes ?? '100,10000,1000000')) await ofBytes(bytes);
});
