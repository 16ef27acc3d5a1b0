import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { MEASURES, measuresOf, openLoop, seeded, sizesOf, TABLES } from './bench.js';

const FOLDER = join(import.meta.dirname, '../../bench/measures');

test('every measure is a file, and has a table', () => {
  expect(MEASURES.filter(({ name }) => !existsSync(join(FOLDER, `${name}.mjs`)))).toEqual([]);
  expect(MEASURES.map(({ name }) => name).sort()).toEqual(TABLES.map(({ name }) => name).sort());
});

test('some of them are chosen by name', () => {
  expect(measuresOf()).toHaveLength(MEASURES.length);
  expect(measuresOf('limit,in-flight').map(({ name }) => name)).toEqual(['in-flight', 'limit']);
  expect(() => measuresOf('limit,in-fligth')).toThrow('--only-measures=in-fligth: give some of in-flight, ');
});

test('sizes are given to the measure that they name', () => {
  expect(sizesOf('soak.minutes=0.5,grown.finished=1000,grown.reps=2')).toEqual({
    soak: ['--minutes=0.5'],
    grown: ['--finished=1000', '--reps=2'],
  });
  expect(sizesOf()).toEqual({});
  expect(() => sizesOf('soak')).toThrow('--sizes=soak: give <measure>.<flag>=<value>');
  expect(() => sizesOf('others.n=1')).toThrow('--sizes=others.n=1');
});

describe('arrivals by chance', () => {
  const service = { start: async () => ({ outcome: async () => undefined }) };
  const arrivals = (seed: number) =>
    openLoop(service, undefined, { rate: 10_000, random: seeded(seed), goesOn: (gone) => gone < 200 });

  test('are as many as the rate says, the same for a seed', async () => {
    const { n, times } = await arrivals(1);
    expect(times).toHaveLength(n);
    // 2,000 are expected; four standard deviations are 179.
    expect(Math.abs(n - 2_000)).toBeLessThan(179);
    expect((await arrivals(1)).n).toBe(n);
    expect((await arrivals(2)).n).not.toBe(n);
  });

  test('count the time from when they were due', async () => {
    const late = {
      start: async () => {
        const until = performance.now() + 30;
        while (performance.now() < until);
        return { outcome: async () => undefined };
      },
    };
    const load = { rate: 1_000, random: seeded(1), goesOn: (gone: number) => gone < 10 };
    const { n, times } = await openLoop(late, undefined, load);
    expect(Math.max(...times)).toBeGreaterThan(0.9 * 30 * n);
  });
});
