import { it } from 'vitest';
import { allOrNothing, placeOrder } from './company.js';

it('ends with all of it or nothing', async () => {
  await allOrNothing(placeOrder({ refunds: false }));
});
