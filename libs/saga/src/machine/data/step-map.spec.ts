import { indexOfKey, itemKey, stepOfKey } from '../../definition/graph/saga-graph.js';
import { PENDING, type StepState } from '../saga-state.js';
import { ALL, DONE, kindOf, KIND, TIMED } from './step-kinds.js';
import {
  changedSteps,
  itemsOf,
  mapOfKinds,
  namesOfKinds,
  StepMap,
  StepMapBuilder,
  stepsOfKinds,
} from './step-map.js';

const STATUSES = ['pending', 'running', 'waiting', 'completed', 'skipped', 'failed', 'compensated'] as const;

/** Random numbers, the same for the same seed. */
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

/** As a store reads them. */
function loadedOf(plain: ReadonlyMap<string, StepState>): ReadonlyMap<string, StepState> {
  const builder = new StepMapBuilder();
  for (const [key, step] of plain) builder.add(key, step);
  return builder.build();
}

describe('the states of many steps', () => {
  test('are what a map would hold, steps first and items in their order, at each moment', () => {
    for (const { steps, plain } of played(1, 400)) {
      const items = (name: string) =>
        [...plain]
          .filter(([key]) => stepOfKey(key) === name)
          .sort(([a], [b]) => indexOfKey(a)! - indexOfKey(b)!);
      const own = [...plain].filter(([key]) => indexOfKey(key) === undefined);
      const fanOuts = new Set(
        [...plain.keys()].filter((key) => !own.some(([o]) => o === key)).map(stepOfKey),
      );
      const expected = steps instanceof StepMap ? [...own, ...[...fanOuts].flatMap(items)] : [...plain];
      expect([...steps]).toEqual(expected);
      expect([...steps.keys()]).toEqual(expected.map(([key]) => key));
      expect([...steps.values()]).toEqual(expected.map(([, step]) => step));
      expect(steps.size).toBe(plain.size);
      expect(steps.has('nothing')).toBe(false);
      expect([...plain].every(([key, step]) => steps.get(key) === step)).toBe(true);
    }
  });

  test('are the same when they are loaded', () => {
    for (const { plain } of played(6, 400)) {
      const loaded = loadedOf(plain);
      expect(new Map(loaded)).toEqual(plain);
    }
  });

  test('say what changed between any two moments', () => {
    const moments = played(2, 400);
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

  test('give those of some kinds, and of those that wait for a time the ones that are due', () => {
    for (const { steps, plain } of played(3, 400)) {
      for (const [kinds, dueBy] of [
        [ALL & ~DONE, Infinity],
        [KIND.failed | KIND.inDoubt, Infinity],
        [TIMED | KIND.running, 350],
      ] as const) {
        const isOne = (step: StepState) => {
          const kind = kindOf(step);
          return (kind & kinds) !== 0 && (!(kind & TIMED) || step.retryAt! <= dueBy);
        };
        const given = [...stepsOfKinds(steps, kinds, dueBy)].filter(([, step]) => isOne(step));
        expect(new Map(given)).toEqual(new Map([...plain].filter(([, step]) => isOne(step))));
        const names = [...plain].filter(([, step]) => isOne(step)).map(([key]) => stepOfKey(key));
        if (dueBy === Infinity) expect(new Set(namesOfKinds(steps, kinds, isOne))).toEqual(new Set(names));
      }
    }
  });

  test('are changed by their kinds, and only those', () => {
    for (const { steps, plain } of played(4, 400)) {
      const mapped = mapOfKinds(steps, TIMED, (step, key) => ({ ...step, result: key }));
      const expected = [...plain].map(([key, step]) => [
        key,
        kindOf(step) & TIMED ? { ...step, result: key } : step,
      ]);
      expect(Object.fromEntries(mapped)).toEqual(Object.fromEntries(expected));
      expect(changedSteps(steps, mapped)).toHaveLength(
        [...plain.values()].filter((step) => kindOf(step) & TIMED).length,
      );
    }
  });

  test('have the items of a fan-out by their indexes', () => {
    for (const { steps, plain } of played(5, 400)) {
      const tree = itemsOf(steps, 'each-1');
      for (let index = 0; index < 310; index += 1)
        expect(tree.get(index)).toBe(plain.get(itemKey('each-1', index)));
    }
  });
});
