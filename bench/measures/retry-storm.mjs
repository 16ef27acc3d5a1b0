// Each of three steps fails twice, and is tried again 10 ms later. --n=10000 --window=1000
import { args, run } from './lib.mjs';
import { oneLoad } from './one-load.mjs';
import { sagaOfSteps } from './sagas.mjs';

const Failing = sagaOfSteps(3, {
  step: () => ({ retry: { attempts: 3, delay: 10, factor: 1, jitter: 0 } }),
  body: (ctx, n) => {
    if (ctx.attempt < 3) throw new Error('not yet');
    return n;
  },
});

await run(() => oneLoad(Failing, { n: args.n ?? 10_000 }));
