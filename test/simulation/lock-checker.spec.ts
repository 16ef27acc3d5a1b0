import type { StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { graphOf, stepOf } from '../fixtures/graph-of.js';
import type { SagaStatus } from '../../libs/saga/src/definition/types/saga-status.js';
import { INITIAL } from '../../libs/saga/src/machine/saga-state.js';
import { LockChecker } from './lock-checker.js';
import { SagaRecord } from './saga-record.js';

interface Given {
  /** Undefined: it has no lock. */
  readonly key?: string;
  readonly parent?: string;
  readonly has?: boolean;
  readonly status?: SagaStatus;
}

const graph = graphOf(stepOf('ship'));

const watch = (given: Record<string, Given>) => {
  const books = new Map(
    Object.entries(given).map(([id, { key, parent, has = false, status = 'running' }]) => {
      const book = new SagaRecord(id, graph, key, parent, undefined);
      book.state = { ...INITIAL, status };
      book.lockHeld = has;
      return [id, book];
    }),
  );
  const broken: string[] = [];
  const checker = new LockChecker(books, (promise) => void broken.push(promise));
  return {
    claimed: (id: string) => {
      checker.claimed(books.get(id)!, false);
      return broken;
    },
    stored: (...comes: string[]) => {
      const sagas = [...books.values()].filter(({ lockKey }) => lockKey !== undefined);
      checker.stored(
        sagas.map(({ id, lockHeld, state }) => {
          const lock = { key: 'k', held: lockHeld };
          return { id, lock, state, dueAt: lockHeld || comes.includes(id) ? 1 : undefined } as StoredSaga;
        }),
        1,
      );
      return broken;
    },
    refused: (id: string) => {
      checker.refused(books.get(id)!, (other) => books.get(other)!.lockHeld);
      return broken;
    },
  };
};

describe('a saga that a claim gives its lock', () => {
  test.each<[string, Record<string, Given>]>([
    [
      'that no saga has',
      { own: { key: 'k', has: true }, other: { key: 'k' }, third: { key: 'x', has: true } },
    ],
    [
      'that its ancestor has',
      {
        own: { key: 'k', has: true, parent: 'between' },
        between: { parent: 'top' },
        top: { key: 'k', has: true },
      },
    ],
    [
      'that another has entered as well',
      {
        own: { key: 'k', has: true, parent: 'top' },
        other: { key: 'k', has: true, parent: 'top' },
        top: { key: 'k', has: true },
      },
    ],
  ])('%s, breaks nothing', (_, given) => {
    expect(watch(given).claimed('own')).toEqual([]);
  });

  test.each<[string, Record<string, Given>]>([
    ['that a stranger has', { own: { key: 'k', has: true }, other: { key: 'k', has: true } }],
    [
      'that another sub-saga of its parent has',
      {
        own: { key: 'k', has: true, parent: 'top' },
        other: { key: 'k', has: true, parent: 'top' },
        top: {},
      },
    ],
    [
      'that its parent had before it was aborted, and another has now',
      {
        own: { key: 'k', has: true, parent: 'top' },
        top: { key: 'k', has: true, status: 'aborted' },
        other: { key: 'k', has: true },
      },
    ],
  ])('%s, breaks I13', (_, given) => {
    expect(new Set(watch(given).claimed('own'))).toEqual(new Set(['I13']));
  });
});

describe('the sagas that are stored with a lock', () => {
  test('break I13 if several families have it', () => {
    expect(watch({ a: { key: 'k', has: true }, b: { key: 'k', has: true } }).stored()).toEqual(['I13']);
    expect(watch({ a: { key: 'k', has: true }, b: { key: 'k', has: true, parent: 'a' } }).stored()).toEqual(
      [],
    );
  });

  test('break I30 if one waits and none has it', () => {
    expect(watch({ a: { key: 'k' }, b: { key: 'x', has: true } }).stored()).toEqual(['I30']);
    expect(watch({ a: { key: 'k' }, b: { key: 'k', has: true } }).stored()).toEqual([]);
    expect(watch({ a: { key: 'k' }, b: { key: 'k' } }).stored('b')).toEqual([]);
  });
});

describe('a saga that is refused its lock', () => {
  const CIRCLE: Record<string, Given> = {
    a: { key: 'k', has: true },
    closing: { key: 'x', parent: 'a' },
    b: { key: 'x', has: true },
    between: { parent: 'b' },
    waiting: { key: 'k', parent: 'between' },
  };

  test('breaks nothing if it would close a circle', () => {
    expect(watch(CIRCLE).refused('closing')).toEqual([]);
  });

  test('breaks I31 if a saga above it has the lock', () => {
    const own: Given = { key: 'k', parent: 'between' };
    const above: Record<string, Given> = { top: { key: 'k', has: true }, between: { parent: 'top' }, own };
    expect(watch(above).refused('own')).toEqual(['I31']);
    expect(watch(above).stored()).toEqual(['I31']);
  });

  test('breaks I31 if it would not', () => {
    const { between: _, ...open } = CIRCLE;
    expect(watch(open).refused('closing')).toEqual(['I31']);
    const ended: Given = { parent: 'b', status: 'compensated' };
    expect(watch({ ...CIRCLE, between: ended }).refused('closing')).toEqual(['I31']);
  });
});
