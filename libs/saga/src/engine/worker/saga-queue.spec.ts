import type { StoredSaga } from '../ports/stored-saga.js';
import { SMALL_SAGA } from '../ports/payload-size.js';
import { QueuedSaga, SagaQueue } from './saga-queue.js';

const NO_STEPS = { steps: new Map() };
const queued = (id: string, { priority = 0, epoch = 1, input = '' } = {}) =>
  new QueuedSaga({ id, epoch, priority, input, state: NO_STEPS } as unknown as StoredSaga, 0);

function drained(queue: SagaQueue): string[] {
  const ids: string[] = [];
  for (let next = queue.take(); next; next = queue.take()) ids.push(next.id);
  return ids;
}

describe('the sagas that wait for a slot', () => {
  test('are taken in the order in which they came, however many come and go', () => {
    const queue = new SagaQueue();
    const taken: string[] = [];
    for (let n = 0; n < 1_000; n += 1) {
      queue.put(queued(`${n}`));
      if (n % 3 === 0) taken.push(queue.take()!.id);
    }
    expect(queue.length).toBe(666);
    expect([...taken, ...drained(queue)]).toEqual(Array.from({ length: 1_000 }, (_, n) => `${n}`));
    expect([queue.length, queue.take()]).toEqual([0, undefined]);
  });

  test('are taken by priority, the highest first', () => {
    const queue = new SagaQueue();
    for (const [n, priority] of [0, 5, -3, 5, 0, 10].entries()) queue.put(queued(`${n}`, { priority }));
    expect(drained(queue)).toEqual(['5', '1', '3', '0', '4', '2']);
  });

  test('are each there once: of two leases of one saga, the later', () => {
    const queue = new SagaQueue();
    for (const epoch of [1, 2]) queue.put(queued('order', { epoch }));
    expect([queue.length, queue.get('order')!.epoch]).toEqual([1, 2]);
    expect(queue.take()!.epoch).toBe(2);
    expect(queue.take()).toBeUndefined();
  });

  test('count with the size of what they hold, the large ones also by themselves', () => {
    const queue = new SagaQueue();
    queue.put(queued('small', { input: 'x'.repeat(100) }));
    queue.put(queued('large', { input: 'x'.repeat(SMALL_SAGA + 1) }));
    expect([queue.size, queue.largeSize]).toEqual([SMALL_SAGA + 101, SMALL_SAGA + 1]);
    queue.take();
    expect(queue.size).toBe(SMALL_SAGA + 1);
    expect(queue.clear().map(({ id }) => id)).toEqual(['large']);
    expect([queue.size, queue.largeSize, queue.length, queue.take()]).toEqual([0, 0, 0, undefined]);
  });

  test('learn what is asked of them', () => {
    const order = queued('order');
    order.cancel('too late');
    expect(order.saga.cancelRequested).toEqual({ reason: 'too late' });
    order.pause();
    expect(order.saga.pauseRequested).toBe(true);
    expect(order.isFenced).toBe(false);
    order.fence();
    expect(order.isFenced).toBe(true);
  });
});
