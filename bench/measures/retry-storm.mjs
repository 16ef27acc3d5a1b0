// Each of three steps fails twice, and is tried again 10 ms later. --n=10000 --window=1000
import { args, run } from './lib.mjs';
import { oneLoad } from './one-load.mjs';
import { failingSaga } from './sagas.mjs';

await run(() => oneLoad(failingSaga(3), { n: args.n ?? 10_000, stored: { name: 'failing' } }));
