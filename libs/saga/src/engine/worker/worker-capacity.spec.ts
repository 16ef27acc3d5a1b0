import { SLOTS, WorkerCapacity, type WorkerCapacityOptions } from './worker-capacity.js';

function scene(given: Partial<WorkerCapacityOptions> = {}) {
  const options = { lease: 30_000, ...given };
  let time = 0;
  let heapIsFull = false;
  const capacity = new WorkerCapacity(
    options,
    () => time,
    () => heapIsFull,
    2 ** 30,
  );
  return {
    capacity,
    fillHeap: () => (heapIsFull = true),
    /** So many sagas end per second, for so many ms. */
    run(rate: number, duration: number, { isFull = true } = {}) {
      for (const end = time + duration; time < end; time += 10) {
        if (isFull) capacity.full();
        else capacity.free();
        for (let n = 0; n < rate / 100; n += 1) capacity.ended();
      }
    },
    pass: (ms: number) => (time += ms),
  };
}

describe('the number of slots', () => {
  test('is what the user has set, whatever happens', () => {
    const { capacity, fillHeap } = scene({ concurrency: 7 });
    expect([capacity.adapt(), capacity.slots]).toEqual([false, 7]);
    fillHeap();
    expect([capacity.adapt(), capacity.slots]).toEqual([false, 7]);
  });

  test('doubles from 100 to 1,000 while the store answers quickly', () => {
    const { capacity } = scene();
    capacity.answered(250);
    const seen = [capacity.slots];
    while (capacity.adapt()) seen.push(capacity.slots);
    expect(seen).toEqual([100, 200, 400, 800, 1_000]);
  });

  test('stays as it is while the store needs longer', () => {
    const { capacity } = scene();
    capacity.answered(251);
    expect([capacity.adapt(), capacity.slots]).toEqual([false, SLOTS.least]);
  });

  test.each([
    ['the store is slow', ({ capacity }: ReturnType<typeof scene>) => capacity.answered(1_001)],
    ['the heap is nearly full', ({ fillHeap }: ReturnType<typeof scene>) => void fillHeap()],
  ])('is halved, down to 100, if %s', (_, happen) => {
    const given = scene();
    while (given.capacity.adapt());
    happen(given);
    const seen = [1, 2, 3, 4, 5].map(() => (given.capacity.adapt(), given.capacity.slots));
    expect(seen).toEqual([500, 250, 125, 100, 100]);
  });
});

describe('what may wait for a slot', () => {
  test('is nothing before it is known how fast sagas end', () => {
    expect(scene().capacity.ahead).toBe(0);
  });

  test('is what ends in a sixth of the lease', () => {
    const { capacity, run } = scene({ lease: 6_000 });
    run(3_000, 1_000);
    expect(capacity.ahead).toBeGreaterThan(2_700);
    expect(capacity.ahead).toBeLessThan(3_400);
  });

  test('is what ends in a second, up to the number of slots, if few sagas end and each takes longer than 100 ms', () => {
    const few = scene({ concurrency: 39, lease: 6_000 });
    few.run(400, 1_000);
    expect(few.capacity.ahead).toBeGreaterThan(350);
    const { capacity, run } = scene({ concurrency: 50 });
    run(400, 1_000);
    expect(capacity.ahead).toBe(50);
    const slow = scene({ concurrency: 500 });
    slow.run(400, 1_000);
    expect(slow.capacity.ahead).toBeGreaterThan(350);
    expect(slow.capacity.ahead).toBeLessThan(450);
  });

  test('is one saga for each 64 kB of the limit of the heap at most', () => {
    const { capacity, run } = scene();
    run(100_000, 500);
    expect(capacity.ahead).toBe(2 ** 30 / 2 ** 16);
  });

  test('is not less for a time with free slots, or without any saga', () => {
    const { capacity, run, pass } = scene();
    run(3_000, 1_000);
    capacity.free();
    pass(60_000);
    capacity.ended();
    const before = capacity.ahead;
    run(1_000, 1_000, { isFull: false });
    pass(60_000);
    capacity.full();
    capacity.ended();
    expect(capacity.ahead).toBe(before);
  });

  test('is at least what ended while slots were free', () => {
    const { capacity, run } = scene({ lease: 6_000 });
    run(1_000, 500);
    run(3_000, 500, { isFull: false });
    expect(capacity.ahead).toBeGreaterThan(2_700);
  });

  test('is next to nothing once the sagas of all slots take long, though those before were short', () => {
    const { capacity, run, pass } = scene({ concurrency: 1_000 });
    run(8_000, 1_000);
    pass(800);
    expect(capacity.ahead).toBe(2 ** 30 / 2 ** 16);
    pass(9_000);
    expect(capacity.ahead).toBeLessThanOrEqual(100);
    for (let n = 0; n < 1_000; n += 1) capacity.ended();
    pass(10_000);
    for (let n = 0; n < 1_000; n += 1) capacity.ended();
    expect(capacity.ahead).toBeLessThanOrEqual(100);
  });

  test('is what the caller has set', () => {
    const { capacity, run } = scene({ ahead: 5 });
    run(3_000, 500);
    expect(capacity.ahead).toBe(5);
  });
});
