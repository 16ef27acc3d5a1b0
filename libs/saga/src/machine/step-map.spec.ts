import { itemKey } from '../definition/graph/saga-graph.js';
import { PENDING, type StepState } from './saga-state.js';
import { changedSteps, itemsToLookAt, StepMap, unsettledSteps } from './step-map.js';

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'skipped', 'failed', 'compensated'] as const;

/** The same numbers for the same seed. */
function seeded(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** A StepMap and a Map that the same has happened to, as they were at each moment. */
function played(seed: number, count: number) {
  const chance = seeded(seed);
  let steps: ReadonlyMap<string, StepState> = new Map();
  const plain = new Map<string, StepState>();
  const moments: { steps: ReadonlyMap<string, StepState>; plain: Map<string, StepState> }[] = [];
  for (let n = 0; n < count; n += 1) {
    const key = chance(10) === 0 ? `step-${chance(5)}` : itemKey(`each-${chance(2)}`, chance(300));
    const status = STATUSES[chance(STATUSES.length)]!;
    const step = { ...PENDING, status, attempts: n, ...(status === 'waiting' && { retryAt: n }) };
    steps = StepMap.with(steps, key, step);
    plain.set(key, step);
    if (n % 7 === 0) moments.push({ steps, plain: new Map(plain) });
  }
  return moments;
}

describe('the states of many steps', () => {
  test('are what a map would hold, in its order, at each moment', () => {
    for (const { steps, plain } of played(1, 700)) {
      expect([...steps]).toEqual([...plain]);
      expect([...steps.keys()]).toEqual([...plain.keys()]);
      expect([...steps.values()]).toEqual([...plain.values()]);
      expect(steps.size).toBe(plain.size);
      expect(steps.has('nothing')).toBe(false);
      expect([...plain].every(([key, step]) => steps.get(key) === step)).toBe(true);
    }
  });

  test('say what changed between any two moments', () => {
    const moments = played(2, 700);
    for (let n = 0; n + 9 < moments.length; n += 5) {
      for (const later of [moments[n + 1]!, moments[n + 9]!]) {
        const before = moments[n]!;
        const expected = [...later.plain].filter(([key, step]) => before.plain.get(key) !== step);
        const changed = changedSteps(before.steps, later.steps);
        expect(new Map(changed)).toEqual(new Map(expected));
        expect(changed).toHaveLength(expected.length);
      }
    }
  });

  test('name all that something is left to do of', () => {
    for (const { steps, plain } of played(3, 700)) {
      const left = [...plain].filter(
        ([, { status, active }]) => active || !['completed', 'skipped', 'compensated'].includes(status),
      );
      const named = new Map(unsettledSteps(steps));
      expect(left.every(([key, step]) => named.get(key) === step)).toBe(true);
      expect([...named].every(([key, step]) => plain.get(key) === step)).toBe(true);
    }
  });

  test('name the items that are not done, not undone, or wait for a time, and from where none has begun', () => {
    const items = Array<string>(300).fill('0');
    for (const { steps, plain } of played(4, 700)) {
      const { open, standing, timed, begun } = itemsToLookAt(steps, 'each-1', items);
      for (const list of [open, standing, timed]) expect(list).toEqual([...list].sort((a, b) => a - b));
      const missing = items.flatMap((_, index) => {
        const step = plain.get(itemKey('each-1', index));
        if (!step) return index < begun && !open.includes(index) ? [`open ${index}`] : [];
        const done = step.status === 'completed' || step.status === 'skipped';
        const undone = step.status === 'skipped' || step.status === 'compensated';
        return [
          index >= begun && `begun ${index}`,
          !done && !open.includes(index) && `open ${index}`,
          !undone && !standing.includes(index) && `standing ${index}`,
          step.retryAt !== undefined && !timed.includes(index) && `timed ${index}`,
        ].filter(Boolean);
      });
      expect(missing).toEqual([]);
    }
  });

  test('leave out the items that a round before had more', () => {
    for (const { steps } of played(5, 700).slice(-20)) {
      const { open, standing, timed, begun } = itemsToLookAt(steps, 'each-0', Array<string>(10).fill('0'));
      for (const index of [...open, ...standing, ...timed]) expect(index).toBeLessThan(10);
      expect(begun).toBeLessThanOrEqual(10);
    }
  });
});
