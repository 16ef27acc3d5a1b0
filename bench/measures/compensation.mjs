// The last of three steps is refused for good, and the two before it are undone. --n=20000 --window=1000
import { args, run } from './lib.mjs';
import { oneLoad } from './one-load.mjs';
import { refusedSaga } from './sagas.mjs';

await run(() =>
  oneLoad(refusedSaga(3), {
    n: args.n ?? 20_000,
    // What is compensated is noted with the saga: the rows of its steps stay as they were written.
    stored: { name: 'refused', status: 'compensated', stepStatus: ['completed', 'failed'] },
  }),
);
