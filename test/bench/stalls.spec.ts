import { timed, watchStalls } from './bench.js';

/** Keeps the event loop busy. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

test('the longest stall is as long as the event loop was blocked, without the time between two looks', async () => {
  const end = await watchStalls();
  block(200);
  const { stall_max_ms, stall_p99_ms } = await end();
  expect(stall_max_ms).toBeGreaterThan(195);
  expect(stall_p99_ms).toBeLessThanOrEqual(stall_max_ms);
});

test('a load reports its stalls, and they cost it no time', async () => {
  const { stalls, secs, n } = await timed(async () => {
    block(100);
    return { n: 7 };
  });
  expect(n).toBe(7);
  expect(stalls.stall_max_ms).toBeGreaterThan(95);
  expect(secs).toBeGreaterThan(0.099);
  // The watch has begun before the time is taken, and ends after it.
  expect(1_000 * secs).toBeLessThan(stalls.stall_max_ms + 5);
});
