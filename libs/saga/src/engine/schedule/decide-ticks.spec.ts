import type { SagaSchedule } from '../../definition/options/schedule-options.js';
import { dueTicks } from './decide-ticks.js';

const MINUTE = 60_000;

/** Every ten minutes. */
function scheduleOf(given: Partial<SagaSchedule> = {}): SagaSchedule {
  const next = (after: number) => (Math.floor(after / (10 * MINUTE)) + 1) * 10 * MINUTE;
  return { cron: '*/10 * * * *', timezone: 'UTC', overlap: 'allow', catchUp: 'last', next, ...given };
}

function decided(minutes: number, now: number, given: Partial<SagaSchedule> = {}, stored: object = {}) {
  const schedule = scheduleOf(given);
  const due = dueTicks(schedule, { ...schedule, decidedUntil: minutes * MINUTE, ...stored }, now * MINUTE);
  return due && [due.tick === undefined ? undefined : due.tick / MINUTE, due.decidedUntil / MINUTE];
}

describe('a tick', () => {
  test('is not due before its time, and then it is, once', () => {
    expect(decided(0, 9.9)).toBeUndefined();
    expect(decided(0, 10)).toEqual([10, 10]);
    expect(decided(10, 10)).toBeUndefined();
  });

  test.each(['none', 'last', 'all'] as const)('on time starts a saga with catchUp %s', (catchUp) => {
    expect(decided(0, 10.5, { catchUp })).toEqual([10, 10]);
  });

  test('that was missed starts one if it is the last, by default', () => {
    expect(decided(0, 19)).toEqual([10, 10]);
    expect(decided(0, 47)).toEqual([40, 40]);
    // Several of them since a time that is looked at as a whole.
    const often = (after: number) => (Math.floor(after / 100) + 1) * 100;
    expect(decided(0, 47, { next: often })).toEqual([47, 47]);
  });

  test('that was missed starts none with none, unless it is less than a minute old', () => {
    expect(decided(0, 11.1, { catchUp: 'none' })).toEqual([undefined, 10]);
    expect(decided(0, 47, { catchUp: 'none' })).toEqual([undefined, 40]);
    expect(decided(0, 40.9, { catchUp: 'none' })).toEqual([40, 40]);
  });

  test('that was missed starts one in its turn with all', () => {
    expect(decided(0, 47, { catchUp: 'all' })).toEqual([10, 10]);
    expect(decided(10, 47, { catchUp: 'all' })).toEqual([20, 20]);
  });

  test.each(['none', 'last', 'all'] as const)(
    'of a paused schedule starts none with catchUp %s',
    (catchUp) => {
      const paused = { at: 0 };
      expect(decided(0, 10, { catchUp }, { paused })).toEqual([undefined, 10]);
      expect(decided(0, 47, { catchUp }, { paused })).toEqual([undefined, 40]);
    },
  );

  test('is not caught up for a time in which another expression was decided', () => {
    expect(decided(0, 47, { catchUp: 'all' }, { cron: '0 * * * *' })).toEqual([undefined, 40]);
    expect(decided(0, 40.5, { catchUp: 'all' }, { timezone: 'Europe/Berlin' })).toEqual([40, 40]);
  });

  test('is found at once after years in which there were millions', () => {
    let calls = 0;
    const next = (after: number) => {
      calls += 1;
      return (Math.floor(after / 1_000) + 1) * 1_000;
    };
    const year = 365 * 24 * 60;
    expect(decided(0, year, { next })).toEqual([year, year]);
    expect(calls).toBeLessThan(20);
  });
});
