import type { Clock } from './clock.js';
import { StoreClock } from './store-clock.js';

const WALL = 1_000_000;

function scene() {
  const time = { monotonic: 0 };
  const clock: Clock = {
    monotonic: () => time.monotonic,
    wall: () => WALL,
    after: () => ({ unref: () => undefined }),
    cancel: () => undefined,
  };
  return { time, clock: new StoreClock(clock) };
}

describe("a process's estimate of the database's time", () => {
  test('is the local time of the process before the first answer', () => {
    expect(scene().clock.now()).toBe(WALL);
  });

  test('goes on from the last answer', () => {
    const { time, clock } = scene();
    time.monotonic = 100;
    clock.observe(5_000);
    time.monotonic = 350;
    expect(clock.now()).toBe(5_250);
  });

  test('does not go back after an answer that took long', () => {
    const { time, clock } = scene();
    clock.observe(5_000);
    time.monotonic = 4_000;
    // Sent at 6,000, received at 9,000.
    clock.observe(6_000);
    expect(clock.now()).toBe(9_000);
  });

  test('is put right by an answer that was quicker than those before', () => {
    const { time, clock } = scene();
    clock.observe(5_000);
    time.monotonic = 10;
    clock.observe(5_200);
    expect(clock.now()).toBe(5_200);
  });

  test('follows a clock that was set back, as fast as clocks may drift', () => {
    const { time, clock } = scene();
    clock.observe(5_000);
    time.monotonic = 1_000;
    clock.observe(5_900);
    expect(clock.now()).toBe(6_000);
    time.monotonic = 20_000;
    clock.observe(24_900);
    expect(clock.now()).toBe(24_900);
  });
});
