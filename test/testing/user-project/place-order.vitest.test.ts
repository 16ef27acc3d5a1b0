import { beforeEach, describe, expect, it } from 'vitest';
import { allOrNothing, charged, forget, placeOrder, reserved } from './company.js';

const input = { sku: 'tea' };

describe('placing an order', () => {
  beforeEach(forget);

  it('reserves and charges', async () => {
    const run = await placeOrder().run(input);
    expect(run.outcome.status).toEqual('completed');
    expect(run.trace).toEqual(['reserveStock', 'charge']);
  });

  it('retries for hours of virtual time, and rolls back', async () => {
    const run = await placeOrder().failing('reserveStock').run(input);
    expect(run.outcome.status).toEqual('compensated');
    expect(run.calls.length).toEqual(3);
  });

  it('refunds what the bank may have done before it fell silent', async () => {
    const run = await placeOrder().timingOut('charge').run(input);
    expect(run.outcome.status).toEqual('compensated');
    expect([reserved.size, charged.size]).toEqual([0, 0]);
  });

  it('goes on where it was when the process dies', async () => {
    const run = await placeOrder().crashing('charge', 'after').run(input);
    expect(run.outcome.status).toEqual('completed');
    expect(run.trace).toEqual(['reserveStock', 'charge']);
  });

  it('completes both steps or compensates both, in every failure case', async () => {
    expect((await allOrNothing(placeOrder())).includes('charge times out after its side effect')).toEqual(
      true,
    );
  });
});
