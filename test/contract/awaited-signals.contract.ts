import { randomUUID } from 'node:crypto';
import { recordWith } from '../fixtures/record-of.js';
import type { AwaitedSignals } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { SentSignal, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import {
  checkpointOf,
  held,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
} from './store-subject.contract.js';

const OTHER = recordWith({ wait: { kind: 'signal', signal: 'settled' } });
const sent = (name: string): SentSignal => ({ name, messageId: randomUUID(), payload: undefined });

/** Which signals a saga is sent, by the graphs that are stored. */
export function describeAwaitedSignals(subject: () => StoreSubject): void {
  describe('a signal to a saga of a stored graph', () => {
    test('is refused by the graph that the saga goes by, whatever the process knows of another one', async () => {
      const { store, graphs } = subject();
      const name = uniqueName();
      const put = (version: number, revision: number, steps: Parameters<typeof recordWith>[0]) =>
        graphs.exclusively(async (writer) => {
          if (revision > 1) await writer.keep({ name, version }, revision - 1);
          await writer.put({ name, version, revision, graph: recordWith(steps) });
        });
      const before = { wait: { kind: 'signal', signal: 'paid' }, pay: { reply: 'refunded' } } as const;
      await put(1, 1, before);
      const kept = await held(store, { name });
      await put(1, 2, { wait: { kind: 'signal', signal: 'payment-received' } });
      const [later, second] = [await started(store, { name }), await started(store, { name, version: 2 })];
      await put(2, 1, { wait: { kind: 'signal', signal: 'settled' } });
      const known = { [`${name}@1`]: ['payment-received'] };
      const resultOf = async (to: StoredSaga, signal: string, knows: AwaitedSignals = {}) => {
        const [result] = await store.signal([{ ...sent(signal), target: { id: to.id } }], knows);
        return result!.outcome === 'refused' ? result!.awaited.toSorted() : result!.outcome;
      };
      for (const knows of [{}, known]) {
        expect(await resultOf(kept, 'paid', knows)).toBe('kept');
        expect(await resultOf(kept, 'refunded', knows)).toBe('kept');
        expect(await resultOf(kept, 'payment-received', knows)).toEqual(
          expect.arrayContaining(['paid', 'refunded']),
        );
        expect(await resultOf(later, 'payment-received', knows)).toBe('kept');
        expect(await resultOf(later, 'paid', knows)).toEqual(expect.arrayContaining(['payment-received']));
        expect(await resultOf(second, 'settled', knows)).toBe('kept');
        expect(await resultOf(second, 'paid', knows)).toEqual(['settled']);
      }
    });

    test('is kept if the saga waits for it right now, whatever its graph says', async () => {
      const { store, graphs } = subject();
      const saga = await held(store);
      const state = stateOf('running', { reply: stepOf({ status: 'waiting', wait: { signal: 'paid' } }) });
      await store.checkpoint([checkpointOf(saga, state, { release: {} })]);
      const graph = recordWith({ wait: { kind: 'signal', signal: 'payment-received' } });
      await graphs.exclusively((writer) => writer.put({ name: saga.name, version: 1, revision: 1, graph }));
      const known = { [`${saga.name}@1`]: ['payment-received'] };
      const target = { id: saga.id };
      expect(await store.signal([{ ...sent('paid'), target }], known)).toMatchObject([{ outcome: 'kept' }]);
      // Of other names it says whether any graph of the saga has them, which tells a mistake from another release.
      const other = await started(store, { name: saga.name, version: 2 });
      await graphs.exclusively((writer) =>
        writer.put({ name: saga.name, version: 2, revision: 1, graph: OTHER }),
      );
      const refused = { target: { id: other.id } };
      expect(await store.signal([{ ...sent('payment-received'), ...refused }], {})).toMatchObject([
        { outcome: 'refused', awaited: ['settled'], elsewhere: true },
      ]);
      expect(await store.signal([{ ...sent('setled'), ...refused }], {})).toMatchObject([
        { outcome: 'refused', awaited: ['settled'], elsewhere: false },
      ]);
      // The decision of an operator is not one of them.
      expect(await store.signal([{ ...sent('approval:pay'), ...refused }])).toMatchObject([
        { outcome: 'kept' },
      ]);
    });
  });
}
