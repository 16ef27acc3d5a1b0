import { PENDING, type StepState } from '../saga-state.js';
import { kindOf, KIND, TIMED } from './step-kinds.js';
import { StepTree } from './step-tree.js';

const COUNT = 2_100;
const LIMITS = [0, 1, 31, 32, 33, 1_023, 1_024, 1_025, 2_048, COUNT, COUNT + 40];

const stands = (n: number): StepState => {
  if (n % 7 === 0) return { ...PENDING, status: 'completed' };
  if (n % 11 === 0) return { ...PENDING, status: 'waiting', retryAt: n };
  if (n % 13 === 0) return { ...PENDING, status: 'running', active: true };
  return { ...PENDING, status: n % 2 === 0 ? 'failed' : 'compensated' };
};
/** Not all of them, so that some are missing, and a whole branch is. */
const there = Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 5 !== 0 && (n < 64 || n > 96));

/** One after the other, from the last one, as the items of a fan-out may end. */
const grown = [...there].reverse().reduce((tree, n) => tree.with(n, stands(n)), StepTree.EMPTY);
const made = StepTree.of(
  Array.from({ length: COUNT }, (_, n) => (there.includes(n) ? stands(n) : undefined)),
);

describe.each([
  ['grown', grown],
  ['made', made],
])('a tree of steps that is %s', (_, tree) => {
  it('has each step by its number', () => {
    for (let n = 0; n < COUNT + 40; n += 1)
      expect(tree.get(n)).toEqual(there.includes(n) ? stands(n) : undefined);
    expect([...tree.entries()]).toEqual(there.map((n) => [n, stands(n)]));
    expect(tree.size).toBe(there.length);
  });

  it.each(LIMITS)('finds all of a kind before %i, in order, the missing ones too', (limit) => {
    for (const kind of Object.values(KIND)) {
      const found: number[] = [];
      tree.search(
        limit,
        ({ kinds }) => (kinds & kind) !== 0,
        (n, step) => {
          if (kindOf(step) === kind) found.push(n);
        },
      );
      const expected = Array.from({ length: limit }, (_, n) => n).filter((n) => kindOf(tree.get(n)) === kind);
      expect(found).toEqual(expected);
    }
  });

  it.each(LIMITS)('counts the attempts in progress before %i', (limit) => {
    expect(tree.activeBefore(limit)).toBe(there.filter((n) => n < limit && stands(n).active).length);
  });

  it('looks only at the parts in which something is due', () => {
    const looked: number[] = [];
    tree.search(
      COUNT,
      ({ kinds, dueAt }) => (kinds & TIMED) !== 0 && dueAt <= 40,
      (n) => void looked.push(n),
    );
    expect(looked).toEqual(expect.arrayContaining([11, 22, 33]));
    expect(looked.every((n) => n < 64)).toBe(true);
  });

  it('stops where it has found enough', () => {
    const looked: number[] = [];
    const isFound = tree.search(
      COUNT,
      () => true,
      (n) => looked.push(n) === 3,
    );
    expect([isFound, looked]).toEqual([true, [0, 1, 2]]);
    expect(
      tree.search(
        COUNT,
        () => true,
        () => false,
      ),
    ).toBe(false);
  });

  it('differs from an earlier one in what was changed since', () => {
    const later = [5_000, 3, 2_099].reduce((next, n) => next.with(n, { ...PENDING, attempts: n }), tree);
    expect(later.changesSince(tree).map(([n, { attempts }]) => [n, attempts])).toEqual([
      [3, 3],
      [2_099, 2_099],
      [5_000, 5_000],
    ]);
    expect(tree.changesSince(tree)).toEqual([]);
    expect(tree.get(3)).toEqual(stands(3));
  });

  it('is itself when what is changed of a kind stays as it was', () => {
    expect(tree.map(KIND.completed, (_, step) => step)).toBe(tree);
    const changed = tree.map(KIND.completed, (_, step) => ({ ...step, result: '1' }));
    const completed = there.filter((n) => stands(n).status === 'completed');
    expect(changed.changesSince(tree).map(([n]) => n)).toEqual(completed);
  });
});
