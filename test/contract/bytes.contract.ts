import { describeOf, testOf } from './features.js';
import { randomBytes } from 'node:crypto';
import { sizeOfSaga, SMALL_SAGA } from '../../libs/saga/src/engine/ports/payload-size.js';
import type { ClaimBytes } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { itemKey } from '../../libs/saga/src/definition/graph/saga-graph.js';
import {
  checkpointOf,
  claimed,
  held,
  lastCheckpointOf,
  loaded,
  newSaga,
  stateOf,
  stepOf,
  storeNow,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

const KB = 1024;

/** Bytes of one value: from far below the bound of an answer to far above it. */
const SIZES = [1 * KB, 20 * KB, 100 * KB, 250 * KB, 300 * KB, 2_000 * KB];

/** JSON text of so many bytes: one that compression makes small, or not. */
function text(bytes: number, compressible = false): string {
  return JSON.stringify(
    compressible
      ? 'x'.repeat(bytes - 2)
      : randomBytes(Math.ceil(bytes / 2))
          .toString('hex')
          .slice(2, bytes),
  );
}

/** Reads of whatever size: see ReadBounds and ClaimBytes. */
export function describeBytes(subject: () => StoreSubject): void {
  /** Due, with steps that have results of these sizes. */
  const due = async (given: Partial<NewSaga>, results: readonly string[]): Promise<string> => {
    const { store } = subject();
    const saga = await held(store, given);
    const steps = Object.fromEntries(results.map((result, n) => [`step-${n}`, stepOf({ result })]));
    const release = { dueAt: saga.createdAt - 1_000 };
    expect(await store.checkpoint([checkpointOf(saga, stateOf('running', steps), { release })])).toEqual([
      'saved',
    ]);
    return saga.id;
  };
  const claim = (name: string, bytes?: ClaimBytes, limit = 100) =>
    subject().store.claim({ lease: WORKER, sagas: [{ name, version: 1 }], limit, bytes });
  const idsOf = (sagas: readonly StoredSaga[]) => sagas.map(({ id }) => id);
  /** What one answer may be: a page of large ones, one of small ones, and no more than a value beyond each. */
  const mostBytes = (value: number) => 2 * (subject().pageBytes + value) + 64 * KB;
  /** A large one: two of them are no more than a page even if, encoded, they are stored a third larger. */
  const large = 2.5 * SMALL_SAGA;

  describeOf('answers of bounded size')('rows of any size', () => {
    const axis = SIZES.flatMap((bytes) => [
      { bytes, compressible: false },
      { bytes, compressible: true },
    ]);

    test.each(axis)(
      'are claimed whole, by answers of bounded size: $bytes bytes a result, compressible: $compressible',
      async ({ bytes, compressible }) => {
        const name = uniqueName();
        const result = text(bytes, compressible);
        const stored: string[] = [];
        for (let n = 0; n < 6; n += 1) stored.push(await due({ name }, [result, result]));
        const room = 1_000 * KB;
        const read: string[] = [];
        while (read.length < stored.length) {
          let sagas: readonly StoredSaga[] = [];
          const largest = await subject().largestAnswerTo(async () => {
            ({ sagas } = await claim(name, { room, alone: true }));
          });
          expect(largest).toBeLessThan(mostBytes(bytes));
          expect(sagas.length).toBeGreaterThan(0);
          const total = sagas.map(sizeOfSaga).reduce((sum, size) => sum + size, 0);
          if (sagas.length > 1) expect(total).toBeLessThanOrEqual(room);
          for (const saga of sagas) {
            expect([...saga.state.steps.values()].map((step) => step.result === result)).toEqual([
              true,
              true,
            ]);
            await subject().store.checkpoint([lastCheckpointOf(saga)]);
          }
          read.push(...idsOf(sagas));
        }
        expect(read.sort()).toEqual(stored.sort());
      },
    );

    test.each([
      ['many small sagas', 1],
      ['one saga with many steps', 40],
    ])('are claimed whole, a page at a time: %s', async (_, steps) => {
      const name = uniqueName();
      const bytes = 20 * KB;
      const results = Array.from({ length: Math.ceil((4 * subject().pageBytes) / bytes) }, () => text(bytes));
      const stored: string[] = [];
      while (results.length > 0) stored.push(await due({ name }, results.splice(0, steps)));
      const read: StoredSaga[] = [];
      while (read.length < stored.length) {
        const largest = await subject().largestAnswerTo(async () => {
          const { sagas } = await claim(name, { room: Infinity, alone: true });
          expect(sagas.length).toBeGreaterThan(0);
          read.push(...sagas);
        });
        expect(largest).toBeLessThan(mostBytes(bytes));
      }
      expect(idsOf(read).sort()).toEqual(stored.sort());
      expect(read.every(({ state }) => state.steps.size > 0)).toBe(true);
    });

    test.each(axis)(
      'are looked at, changed and waited for, by answers of bounded size: $bytes bytes a result, compressible: $compressible',
      async ({ bytes, compressible }) => {
        const { store } = subject();
        const results = [text(bytes, compressible), text(bytes, compressible), text(10)];
        const ids: string[] = [];
        for (let n = 0; n < 4; n += 1) {
          const saga = await held(store, { name: 'sized', input: text(bytes, compressible) });
          const steps = Object.fromEntries(results.map((result, at) => [`s${at}`, stepOf({ result })]));
          await store.checkpoint([checkpointOf(saga, stateOf('completed', steps), { release: {} })]);
          ids.push(saga.id);
        }
        const isWhole = ({ state }: StoredSaga) =>
          results.every((result, at) => state.steps.get(`s${at}`)?.result === result);
        const reads: Record<string, () => Promise<readonly StoredSaga[]>> = {
          load: async () => [await loaded(store, ids[0]!)],
          ended: () => store.ended(ids),
          watch: async () => (await store.watch(ids)) as StoredSaga[],
          edit: async () => {
            const seen: StoredSaga[] = [];
            await store.edit({ id: ids[0]! }, (saga) => (seen.push(saga), undefined));
            return seen;
          },
        };
        for (const [what, read] of Object.entries(reads)) {
          let sagas: readonly StoredSaga[] = [];
          const largest = await subject().largestAnswerTo(async () => (sagas = await read()));
          expect([what, largest < mostBytes(bytes)]).toEqual([what, true]);
          const found = what === 'load' || what === 'edit' ? ids.slice(0, 1) : ids;
          expect([what, idsOf(sagas).sort()]).toEqual([what, [...found].sort()]);
          expect([what, sagas.every(isWhole)]).toEqual([what, true]);
        }
      },
    );

    test.each(SIZES)('are sent as signals, and received in their order: %d bytes each', async (bytes) => {
      const { store } = subject();
      const saga = await held(store);
      const payload = text(bytes);
      for (let n = 1; n <= 5; n += 1)
        await store.signal([{ target: { id: saga.id }, name: `s${n % 2}`, messageId: `m${n}`, payload }]);
      const largest = await subject().largestAnswerTo(async () => {
        const received = await store.pendingSignals(saga.id);
        expect(received.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
        expect(received.every((signal) => signal.payload === payload)).toBe(true);
      });
      expect(largest).toBeLessThan(mostBytes(bytes));
      const whole = await loaded(store, saga.id);
      expect(whole.signals?.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
    });

    test.each(SIZES)('are found again by starts that come twice: an input of %d bytes', async (bytes) => {
      const { store } = subject();
      const input = text(bytes);
      const name = uniqueName();
      const sagas = Array.from({ length: 6 }, (_, n) => newSaga({ name, correlationId: `c${n}`, input }));
      await store.start(sagas, WORKER);
      const again = sagas.map(({ correlationId }) => newSaga({ name, correlationId, input: '1' }));
      const largest = await subject().largestAnswerTo(async () => {
        const results = await store.start(again, WORKER);
        expect(results.map((result) => !result.created && result.existing!.id)).toEqual(
          sagas.map(({ id }) => id),
        );
        expect(results.every((result) => !result.created && result.existing!.input === input)).toBe(true);
      });
      expect(largest).toBeLessThan(mostBytes(bytes));
    });

    test('are left out where only the standing of sagas is asked for', async () => {
      const { store, graphs, pageBytes, largestAnswerTo } = subject();
      const name = uniqueName();
      for (let n = 0; n < 10; n += 1) {
        const saga = await held(store, { name });
        const items = Array.from({ length: 10 }, () => text(20 * KB));
        const steps = {
          each: stepOf({ status: 'running', items }),
          [itemKey('each', 0)]: stepOf({ result: text(20 * KB) }),
          wait: stepOf({
            status: 'waiting',
            wait: { signal: 's', takenSignal: 1, payload: text(100 * KB) },
          }),
        };
        await store.checkpoint([checkpointOf(saga, stateOf('running', steps), { release: {} })]);
      }
      const largest = await largestAnswerTo(async () => {
        const { sagas } = await graphs.unfinished({ name, version: 1 }, 100);
        const rest = await graphs.unfinished({ name, version: 1 }, 100, undefined);
        expect(
          sagas.concat(rest.sagas).every(({ state }) => state.steps.get('each')?.items?.length === 10),
        ).toBe(true);
      });
      expect(largest).toBeLessThan(pageBytes);
    });
  });

  describe('a claim with little room for bytes', () => {
    test('takes large sagas while they fit, and leaves the others', async () => {
      const name = uniqueName();
      const ids = [];
      for (let n = 0; n < 4; n += 1) ids.push(await due({ name }, [text(large)]));
      // Room for two and not for three, be they stored as they are or, encoded, a third larger.
      const room = 2.8 * large;
      const first = await claim(name, { room, alone: true });
      expect(first).toMatchObject({ heavy: true });
      expect(idsOf(first.sagas)).toEqual(ids.slice(0, 2));
      const second = await claim(name, { room, alone: true });
      expect(idsOf(second.sagas)).toEqual(ids.slice(2));
      expect(second.heavy ?? false).toBe(false);
    });

    test('takes one that has no room by itself only for a worker that holds no large one', async () => {
      const name = uniqueName();
      const id = await due({ name }, [text(large)]);
      expect(await claim(name, { room: 1, alone: false })).toMatchObject({ sagas: [], heavy: true });
      expect(idsOf((await claim(name, { room: 1, alone: true })).sagas)).toEqual([id]);
    });

    test('lets no large saga pass one that came first, though it would fit', async () => {
      const name = uniqueName();
      await due({ name }, [text(4 * large)]);
      await due({ name }, [text(large)]);
      expect(await claim(name, { room: 2 * large, alone: false })).toMatchObject({ sagas: [], heavy: true });
    });

    test('takes small sagas all the same, however many large ones come first', async () => {
      const name = uniqueName();
      for (let n = 0; n < 5; n += 1) await due({ name }, [text(large, n % 2 === 0)]);
      const small = [];
      for (let n = 0; n < 3; n += 1) small.push(await due({ name }, [text(KB)]));
      const { sagas, heavy } = await claim(name, { room: 0, alone: false }, 3);
      expect(idsOf(sagas)).toEqual(small);
      expect(heavy).toBe(true);
    });

    testOf('the time of the next due saga')(
      'does not report sagas that it left as the next to be due',
      async () => {
        const { store, advance } = subject();
        const name = uniqueName();
        await due({ name }, [text(large)]);
        expect((await claim(name, { room: 0, alone: false })).nextDueAt).toBeUndefined();
        const now = await storeNow(store);
        await store.start([newSaga({ name, startAt: now + 60_000 })], WORKER);
        const { nextDueAt } = await claim(name, { room: 0, alone: false });
        expect(Math.abs(nextDueAt! - now - 60_000)).toBeLessThan(20_000);
        await advance(0);
      },
    );

    test('counts what a saga was sent, and its input', async () => {
      const { store } = subject();
      const [first, second] = [uniqueName(), uniqueName()];
      await store.start([newSaga({ name: first, input: text(large) })], WORKER);
      const other = newSaga({ name: second });
      await store.start([other], WORKER);
      const payload = text(large);
      await store.signal([{ target: { id: other.id }, name: 's', messageId: 'm', payload }]);
      for (const name of [first, second]) {
        expect(await claim(name, { room: 1_000, alone: false })).toMatchObject({ sagas: [], heavy: true });
        expect((await claimed(store, name)).sagas).toHaveLength(1);
      }
    });

    test('bounds those of a `limit` as well', async () => {
      const { store } = subject();
      const name = uniqueName();
      const ids = [];
      for (let n = 0; n < 4; n += 1) ids.push(await due({ name }, [text(2_000 * KB)]));
      const sagas = [{ name, version: 1, maxLeases: 10 }];
      const read: string[] = [];
      while (read.length < 4) {
        const bytes = { room: 3_000 * KB, alone: true };
        const taken = await store.claim({ lease: WORKER, sagas, limit: 10, bytes });
        expect(taken.sagas.length).toBeGreaterThan(0);
        expect(taken.sagas.length).toBeLessThan(4);
        read.push(...idsOf(taken.sagas));
        for (const saga of taken.sagas) await store.checkpoint([lastCheckpointOf(saga)]);
      }
      expect(read.sort()).toEqual(ids.sort());
    });
  });
}
