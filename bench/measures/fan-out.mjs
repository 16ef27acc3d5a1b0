// One saga with a step over many items: seconds, stalls of the event loop, memory, and WAL.
// --items=1000,10000,100000 --itemsAtOnce=10
import { Saga, Step } from '../../libs/saga/dist/index.js';
import { costing } from './costing.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { allThere } from './stored.mjs';

const itemsAtOnce = args.itemsAtOnce ?? 10;

/** The decorators, as TypeScript calls them. */
function sagaOfItems() {
  class FanOut {
    each({ index }) {
      return index;
    }
  }
  const method = Object.getOwnPropertyDescriptor(FanOut.prototype, 'each');
  Step({ forEach: ({ input }) => Array.from({ length: input.items }, (_, n) => n), itemsAtOnce })(
    FanOut.prototype,
    'each',
    method,
  );
  Saga({ name: 'fan-out' })(FanOut);
  return FanOut;
}

async function ofItems(items) {
  const db = await createDatabase();
  const FanOut = sagaOfItems();
  const ran = await withApp({ db, sagas: [FanOut] }, async (service) => {
    await closedLoop(service, FanOut, { n: 1, window: 1, input: () => ({ items: 10 }) });
    return costing(db, () => closedLoop(service, FanOut, { n: 1, window: 1, input: () => ({ items }) }));
  });
  // The row of the step itself stays as it was when the items began: a note in the saga's row says that it is completed.
  const stored = { name: 'fan-out', stepStatus: ['completed', 'running'], sagas: 2, steps: items + 12 };
  emit(
    {
      items_per_s: items / ran.secs,
      wal_bytes_per_item: ran.costs.wal_bytes_per_saga / items,
      saga_ms: ran.secs * 1_000,
      peak_rss_mb: process.resourceUsage().maxRSS / 1024,
      ...ran.stalls,
    },
    { items, itemsAtOnce, complete: await allThere(db, stored) },
  );
}

await run(async () => {
  for (const items of numbers(args.items ?? '1000,10000,100000')) await ofItems(items);
});
