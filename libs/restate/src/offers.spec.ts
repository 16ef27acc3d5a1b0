import { INITIAL } from '../../saga/src/machine/saga-state.js';
import type { MemoryRow } from 'nestjs-durable-saga/internal/backend';
import { Offers } from './offers.js';

const NOW = 1_000_000;
const rowOf = (id: string, dueAt = NOW, name = 'order') =>
  ({
    saga: {
      id,
      name,
      version: 1,
      priority: 0,
      dueAt,
      createdAt: dueAt,
      state: { ...INITIAL, status: 'running' },
    },
    signals: [],
  }) as unknown as MemoryRow;
const ORDERS = { sagas: [{ name: 'order', version: 1 }], limit: 10 };

describe('a saga that is offered to a process', () => {
  let offers: Offers;
  beforeEach(() => {
    offers = new Offers();
    offers.take(ORDERS);
  });

  test('is claimed by it, once', () => {
    offers.add({ now: NOW, due: rowOf('a') });
    expect(offers.take(ORDERS)).toMatchObject([{ id: 'a' }]);
    expect(offers.take(ORDERS)).toEqual([]);
  });

  test('is offered again after 2 s, and later the more of them the process has', () => {
    expect(offers.add({ now: NOW, due: rowOf('a') })).toBe(2_020);
    for (let n = 0; n < 500; n += 1) offers.add({ now: NOW, due: rowOf(`${n}`) });
    expect(offers.add({ now: NOW, due: rowOf('b') })).toBe(2_000 + 502 * 20);
    for (let n = 0; n < 5_000; n += 1) offers.add({ now: NOW, due: rowOf(`${n}`) });
    expect(offers.add({ now: NOW, due: rowOf('c') })).toBe(30_000);
  });

  test('is offered again soon, and then ever later, if the process does not run such sagas', () => {
    const again = (late: number) => offers.add({ now: NOW, due: rowOf('a', NOW - late, 'refund') });
    expect([0, 8_000, 3_600_000].map(again)).toEqual([50, 2_000, 60_000]);
    expect(offers.take(ORDERS)).toEqual([]);
  });

  test('before its first claim is kept, but offered again as if it were not run there', () => {
    const first = new Offers();
    expect(first.add({ now: NOW, due: rowOf('a') })).toBe(50);
    expect(first.take(ORDERS)).toMatchObject([{ id: 'a' }]);
  });

  test('and is overdue is taken by who asks for its name', () => {
    for (const id of ['a', 'b']) offers.add({ now: NOW, overdue: rowOf(id) });
    offers.add({ now: NOW, overdue: rowOf('c', NOW, 'refund') });
    expect(offers.takeOverdue(['refund'], 1)).toEqual(['c']);
    expect(offers.takeOverdue(['refund', 'order'], 1)).toEqual(['a']);
    expect(offers.takeOverdue(['order'], 5)).toEqual(['b']);
  });

  test('is for others, with those that it has not claimed, once the process ends', () => {
    offers.add({ now: NOW, due: rowOf('a') });
    offers.add({ now: NOW, overdue: rowOf('b') });
    expect(offers.close()).toEqual(['a', 'b']);
    expect([offers.close(), offers.add({ now: NOW, due: rowOf('c') }), offers.take(ORDERS)]).toEqual([
      [],
      540,
      [],
    ]);
  });
});
