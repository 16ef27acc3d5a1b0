// One saga with a step over many items: seconds, stalls of the event loop, and WAL. --items=1000,5000,10000 --concurrency=10
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Saga, Step } from '../../libs/saga/dist/index.js';
import { costing } from './costing.mjs';
import { args, createDatabase, emit, numbers, run, withApp } from './lib.mjs';
import { closedLoop } from './loops.mjs';
import { allThere } from './stored.mjs';

const concurrency = args.concurrency ?? 10;

/** The decorators, as TypeScript calls them. */
function sagaOfItems() {
  class FanOut {
    each({ index }) {
      return index;
    }
  }
  const method = Object.getOwnPropertyDescriptor(FanOut.prototype, 'each');
  Step({ forEach: ({ input }) => Array.from({ length: input.items }, (_, n) => n), concurrency })(
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
  const delay = monitorEventLoopDelay({ resolution: 5 });
  const ran = await withApp({ db, sagas: [FanOut] }, async (service) => {
    await closedLoop(service, FanOut, { n: 1, window: 1, input: () => ({ items: 10 }) });
    return costing(db, () => {
      delay.enable();
      return closedLoop(service, FanOut, { n: 1, window: 1, input: () => ({ items }) });
    });
  });
  delay.disable();
  emit(
    {
      items_per_s: items / ran.secs,
      longest_stall_ms: delay.max / 1e6,
      wal_bytes_per_item: ran.costs.wal_bytes_per_saga / items,
      saga_ms: ran.secs * 1_000,
    },
    { items, concurrency, complete: await allThere(db, { name: 'fan-out', sagas: 2, steps: items + 12 }) },
  );
}

await run(async () => {
  for (const items of numbers(args.items ?? '1000,5000,10000')) await ofItems(items);
});
