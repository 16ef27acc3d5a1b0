import { PendingCount } from './pending-count.js';

describe('PendingCount', () => {
  it('resolves at once if nothing is in progress', async () => {
    await expect(new PendingCount().none()).resolves.toBeUndefined();
  });

  it('resolves all waits once the last of what is in progress has ended, and not before', async () => {
    const pending = new PendingCount();
    pending.add(2);
    pending.add();
    const resolved: string[] = [];
    const waits = ['a', 'b'].map((name) => pending.none().then(() => resolved.push(name)));
    pending.done(2);
    await Promise.resolve();
    expect([pending.size, resolved]).toEqual([1, []]);
    pending.done();
    await Promise.all(waits);
    expect(resolved).toEqual(['a', 'b']);
  });

  it('can be waited for again', async () => {
    const pending = new PendingCount();
    pending.add();
    pending.done();
    pending.add();
    let isOver = false;
    const wait = pending.none().then(() => (isOver = true));
    await Promise.resolve();
    expect(isOver).toBe(false);
    pending.done();
    await wait;
    expect(isOver).toBe(true);
  });
});
