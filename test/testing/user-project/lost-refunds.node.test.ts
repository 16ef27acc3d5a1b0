/* oxlint-disable typescript/no-floating-promises -- node:test waits for registered tests */
import { it } from 'node:test';
import { allOrNothing, placeOrder } from './company.js';

it('ends with all of it or nothing', async () => {
  await allOrNothing(placeOrder({ refunds: false }));
});
