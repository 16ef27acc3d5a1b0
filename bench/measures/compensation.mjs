// The last of three steps is refused for good, and the two before it are undone. --n=20000 --window=1000
import { StepRejectedError } from '../../libs/saga/dist/index.js';
import { args, run } from './lib.mjs';
import { oneLoad } from './one-load.mjs';
import { sagaOfSteps } from './sagas.mjs';

const Undone = sagaOfSteps(3, {
  step: (n) => (n < 3 ? { compensate: `undo${n}` } : {}),
  body: (_ctx, n) => {
    if (n === 3) throw new StepRejectedError('refused');
    return n;
  },
  undo: async () => {},
});

await run(() =>
  oneLoad(Undone, {
    n: args.n ?? 20_000,
    stored: { status: 'compensated', stepStatus: ['compensated', 'failed'] },
  }),
);
