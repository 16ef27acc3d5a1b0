/* oxlint-disable typescript/no-floating-promises -- node:test waits for registered tests */
import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { allOrNothing, charged, forget, placeOrder, reserved } from './company.js';

const input = { sku: 'tea' };

describe('placing an order', () => {
  beforeEach(forget);

  it('reserves and charges', async () => {
    const run = await placeOrder().run(input);
    assert.deepEqual(run.outcome.status, 'completed');
    assert.deepEqual(run.trace, ['reserveStock', 'charge']);
  });

  it('retries for hours of virtual time, and rolls back', async () => {
    const run = await placeOrder().failing('reserveStock').run(input);
    assert.deepEqual(run.outcome.status, 'compensated');
    assert.deepEqual(run.calls.length, 3);
  });

  it('refunds what the bank may have done before it fell silent', async () => {
    const run = await placeOrder().timingOut('charge').run(input);
    assert.deepEqual(run.outcome.status, 'compensated');
    assert.deepEqual([reserved.size, charged.size], [0, 0]);
  });

  it('goes on where it was when the process dies', async () => {
    const run = await placeOrder().crashing('charge', 'after').run(input);
    assert.deepEqual(run.outcome.status, 'completed');
    assert.deepEqual(run.trace, ['reserveStock', 'charge']);
  });

  it('completes both steps or compensates both, in every failure case', async () => {
    assert.deepEqual(
      (await allOrNothing(placeOrder())).includes('charge times out after its side effect'),
      true,
    );
  });
});
