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

/** The answer to a question that was sent at this time shows a clock set back by an hour. One that was sent at 900, and executed before that, comes later. */
function overtaken(sentAt: number) {
  const { time, clock } = scene();
  clock.observe(10_000_000, 0);
  time.monotonic = 1_000;
  clock.observe(6_401_000, sentAt);
  time.monotonic = 1_050;
  clock.observe(10_000_920, 900);
  return clock;
}

describe("a process's estimate of the database's time", () => {
  test('is the local time of the process before the first answer', () => {
    expect(scene().clock.now()).toBe(WALL);
  });

  test('goes on from the last answer', () => {
    const { time, clock } = scene();
    time.monotonic = 100;
    clock.observe(5_000, 100);
    time.monotonic = 350;
    expect(clock.now()).toBe(5_250);
  });

  test('does not go back after an answer that took long', () => {
    const { time, clock } = scene();
    clock.observe(5_000, 0);
    time.monotonic = 4_000;
    // Sent at 6,000, received at 9,000.
    clock.observe(6_000, 1_000);
    expect(clock.now()).toBe(9_000);
  });

  test('does not go back after an answer that a process received when it went on after it was suspended', () => {
    const { time, clock } = scene();
    clock.observe(5_000, 0);
    time.monotonic = 3_600_000;
    clock.observe(5_010, 5);
    expect(clock.now()).toBe(3_605_000);
  });

  test('does not go back after such an answer of a clock that drifts', () => {
    const { time, clock } = scene();
    clock.observe(5_000, 0);
    time.monotonic = 3_600_000;
    clock.observe(14_990, 10_000);
    expect(clock.now()).toBe(3_604_990);
    expect(clock.setBacks).toBe(0);
  });

  test('is put right by an answer that was quicker than those before', () => {
    const { time, clock } = scene();
    clock.observe(5_000, 0);
    time.monotonic = 10;
    clock.observe(5_200, 5);
    expect(clock.now()).toBe(5_200);
  });

  test.each([[100], [3_600_000]])(
    'follows a clock that was set back by %i ms with the first answer',
    (back) => {
      const { time, clock } = scene();
      clock.observe(10_000_000, 0);
      time.monotonic = 1_000;
      clock.observe(10_001_000 - back, 998);
      expect(clock.now() - (10_001_000 - back)).toBeLessThanOrEqual(2);
    },
  );

  test('does not go forward again after an answer that the clock gave before it was set back, and that arrives later', () => {
    // Sent after the clock was set back.
    const clock = overtaken(950);
    expect(clock.now()).toBe(6_401_050);
    expect(clock.setBacks).toBe(1);
  });

  test('does not go forward again after an answer that was asked for later, and given before it was set back', () => {
    // Sent before the clock was set back, and executed after it.
    const clock = overtaken(850);
    expect(clock.now()).toBe(6_401_050);
    // Sent once that was known: the clock has been set right.
    clock.observe(10_001_050, 1_010);
    expect(clock.now()).toBe(10_001_050);
  });

  test('follows a clock that was set back by an hour with an answer to an earlier question, too', () => {
    const { time, clock } = scene();
    clock.observe(10_000_000, 0);
    time.monotonic = 1_000;
    // It has drifted.
    clock.observe(10_000_990, 999);
    time.monotonic = 5_000;
    clock.observe(6_405_000, 900);
    expect(clock.now()).toBe(6_405_000);
    expect(clock.setBacks).toBe(1);
  });

  test('is ahead of a slower clock by no more than an answer takes', () => {
    const { time, clock } = scene();
    clock.observe(0, 0);
    for (time.monotonic = 10_000; time.monotonic < 10_000_000; time.monotonic += 10_000) {
      const real = time.monotonic * 0.999;
      clock.observe(real, time.monotonic - 20);
      expect(clock.now() - real).toBeLessThanOrEqual(20);
    }
  });

  test('remembers the latest time since a moment before the clock was set back, and no longer', () => {
    const { time, clock } = scene();
    clock.observe(10_000_000, 0);
    time.monotonic = 1_000;
    clock.observe(6_401_000, 999);
    time.monotonic = 2_000;
    // It drifts.
    clock.observe(6_401_990, 1_999);
    expect([clock.latestSince(500), clock.latestSince(1_500)]).toEqual([10_001_000, 6_401_991]);
  });
});
