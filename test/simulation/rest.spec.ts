import { graphOf, stepOf } from '../fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState } from '../../libs/saga/src/machine/saga-state.js';
import type { SagaStatus } from '../../libs/saga/src/definition/types/saga-status.js';
import { whyItWaits } from './rest.js';
import { SagaRecord } from './saga-record.js';

const graph = graphOf(stepOf('ship'));

interface Given {
  lock?: 'waits' | 'holds';
  status?: SagaStatus;
  child?: { id: string; phase: 'running' | 'ended' };
}

/** All have one lock key, if any. */
function booksOf(given: Record<string, Given>): ReadonlyMap<string, SagaRecord> {
  return new Map(
    Object.entries(given).map(([id, { lock, status = 'running', child }]) => {
      const book = new SagaRecord(id, graph, lock && 'key', undefined, undefined);
      const step =
        child &&
        ({ ...PENDING, status: child.phase === 'running' ? 'waiting' : 'completed', child } as const);
      const steps: SagaState['steps'] = step ? new Map([['ship', step as never]]) : new Map();
      book.state = { ...INITIAL, status, steps };
      book.lockHeld = lock === 'holds';
      return [id, book];
    }),
  );
}

const whyOf = (given: Record<string, Given>) => {
  const books = booksOf(given);
  return whyItWaits(books.get('a')!, books);
};

describe('a saga may wait for ever', () => {
  test('behind a lock whose holder needs an operator', () => {
    const why = whyOf({ a: { lock: 'waits' }, b: { lock: 'holds', status: 'suspended' } });
    expect(why).toBe('waits for the lock of b, which is suspended');
  });

  test('for a sub-saga that needs an operator, or waits for one that does', () => {
    const why = whyOf({
      a: { child: { id: 'b', phase: 'running' } },
      b: { lock: 'waits' },
      c: { lock: 'holds', status: 'stuck' },
    });
    expect(why).toBe('waits for its sub-saga b, which waits for the lock of c, which is stuck');
  });
});

test('of many sagas that wait for each other, each is looked at once', () => {
  const pairs = Array.from({ length: 25 }, (_, n): [string, Given][] => [
    [`holder-${n}`, { lock: 'holds', child: { id: `child-${n}`, phase: 'running' } }],
    [`child-${n}`, { lock: 'waits' }],
  ]);
  expect(whyOf({ a: { lock: 'waits' }, ...Object.fromEntries(pairs.flat()) })).toBeUndefined();
});

describe('a saga may not wait for ever', () => {
  test.each<[string, Record<string, Given>]>([
    ['for nothing', { a: {} }],
    [
      'beside a stuck saga with its lock key that does not hold the lock',
      { a: { lock: 'waits' }, b: { lock: 'waits', status: 'stuck' } },
    ],
    ['with the lock that others wait for', { a: { lock: 'holds' }, b: { lock: 'waits', status: 'stuck' } }],
    [
      'behind a lock whose holder has ended',
      { a: { lock: 'waits' }, b: { lock: 'holds', status: 'completed' } },
    ],
    [
      'for a sub-saga that has ended for its step',
      { a: { child: { id: 'b', phase: 'ended' } }, b: { status: 'stuck' } },
    ],
    [
      'for a sub-saga that waits for its own parent',
      { a: { child: { id: 'b', phase: 'running' }, lock: 'holds' }, b: { lock: 'waits' } },
    ],
  ])('%s', (_, given) => {
    expect(whyOf(given)).toBeUndefined();
  });
});
