import { transientWait } from './transient-wait.js';

test('each wait is twice as long as the one before, up to the longest', () => {
  const waits = [0, 1, 2, 6, 7, 2_000].map((tries) => transientWait(tries, 1));
  expect(waits).toEqual([20, 40, 80, 1_280, 2_000, 2_000]);
});

test('half of a wait is random', () => {
  expect([0, 0.5, 1].map((random) => transientWait(1, random))).toEqual([20, 30, 40]);
});

test('a broker and a connection have bounds of their own', () => {
  const bounds = { first: 200, longest: 5_000 };
  expect([0, 4, 5].map((tries) => transientWait(tries, 1, bounds))).toEqual([200, 3_200, 5_000]);
});
