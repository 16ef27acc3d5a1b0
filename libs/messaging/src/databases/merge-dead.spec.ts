import type { StoredDeadMessage } from '../../../saga/src/store/postgres/outbox/postgres-outbox.js';
import { oldestDeadFirst } from './merge-dead.js';

const dead = (at: number, more = false) =>
  ({
    id: `m-${at}`,
    deadAt: new Date(at),
    deadAtText: new Date(at).toISOString(),
    more,
  }) as StoredDeadMessage;
const at = ({ rows }: ReturnType<typeof oldestDeadFirst>) => rows.map(({ deadAt }) => Number(deadAt));

test('pages are merged, oldest first, up to the limit', () => {
  const merged = oldestDeadFirst([[dead(1), dead(4)], [dead(2)], []], 5);
  expect(at(merged)).toEqual([1, 2, 4]);
  expect(merged.more).toBe(false);
  expect(at(oldestDeadFirst([[dead(1), dead(4)], [dead(2)]], 2))).toEqual([1, 2]);
});

test('a page ends where the page of a shard is cut, so that the next one leaves out none', () => {
  const merged = oldestDeadFirst(
    [
      [dead(1), dead(3, true)],
      [dead(2), dead(5)],
    ],
    10,
  );
  expect(at(merged)).toEqual([1, 2, 3]);
  expect(merged.more).toBe(true);
});
