import type {
  GraphStore,
  GraphWriter,
  SagaVersion,
  UnfinishedSaga,
} from '../../libs/saga/src/engine/ports/graph-store.js';
import { adoptsGraph } from '../../libs/saga/src/engine/ports/live-state.js';
import { recordWith } from '../fixtures/record-of.js';
import {
  checkpointOf,
  claimed,
  held,
  lastCheckpointOf,
  loaded,
  newSaga,
  started,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

const GRAPH = recordWith({ reserve: {}, charge: { compensate: 'refund' } });
const OTHER = recordWith({ reserve: {} });
const saga = (): SagaVersion => ({ name: uniqueName(), version: 1 });

async function unfinishedOf(graphs: GraphStore, version: SagaVersion): Promise<UnfinishedSaga[]> {
  return graphs.reading(async (reader) => {
    const all: UnfinishedSaga[] = [];
    await reader.eachUnfinished(version, (batch) => all.push(...batch));
    return all;
  });
}

async function pagedIds(graphs: GraphStore, version: SagaVersion, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let next: string | undefined, more = true; more; more = next !== undefined) {
    const page = await graphs.unfinished(version, limit, next);
    expect(page.sagas.length).toBeLessThanOrEqual(limit);
    ids.push(...page.sagas.map(({ id }) => id));
    next = page.next;
  }
  return ids.sort();
}

export function describeGraphs(subject: () => StoreSubject): void {
  const put = (...given: Parameters<GraphWriter['put']>) =>
    subject().graphs.exclusively((graphs) => graphs.put(...given));

  describe('graphs', () => {
    test('come back as they were stored, the oldest revision first', async () => {
      const { graphs } = subject();
      const [a, b] = [saga(), saga()];
      await put({ ...a, revision: 1, graph: GRAPH });
      await put({ ...a, revision: 2, graph: OTHER });
      await put({ ...b, revision: 1, graph: OTHER });
      expect(await graphs.stored([a])).toEqual([
        { ...a, revision: 1, graph: GRAPH },
        { ...a, revision: 2, graph: OTHER },
      ]);
      expect(await graphs.stored([{ ...a, version: 2 }])).toEqual([]);
      expect(await graphs.stored([])).toEqual([]);
      expect(await graphs.stored([{ name: a.name }])).toHaveLength(2);
      expect(await graphs.reading((reader) => reader.stored([a, b]))).toHaveLength(3);
    });

    test('come back in their newest revisions, of all versions of all sagas', async () => {
      const { graphs } = subject();
      const a = saga();
      await put({ ...a, version: 2, revision: 1, graph: GRAPH });
      for (const revision of [1, 2, 10])
        await put({ ...a, revision, graph: revision === 10 ? OTHER : GRAPH });
      const b = saga();
      await put({ ...b, revision: 1, graph: GRAPH });
      const newest = await graphs.newest();
      expect(newest.filter(({ name }) => name === a.name)).toEqual([
        { ...a, revision: 10, graph: OTHER },
        { ...a, version: 2, revision: 1, graph: GRAPH },
      ]);
      expect(newest.filter(({ name }) => name === b.name)).toEqual([{ ...b, revision: 1, graph: GRAPH }]);
    });

    test('come back for any number of versions that are asked for', async () => {
      const { graphs } = subject();
      const a = saga();
      await put({ ...a, revision: 1, graph: GRAPH });
      const others = Array.from({ length: 40_000 }, (_, n) => ({ ...a, version: n + 2 }));
      expect(await graphs.stored([...others, a, a, { name: a.name }])).toEqual([
        { ...a, revision: 1, graph: GRAPH },
      ]);
    });

    test('stored again under their revision replace what was there', async () => {
      const a = saga();
      await put({ ...a, revision: 1, graph: GRAPH });
      await put({ ...a, revision: 1, graph: OTHER });
      expect(await subject().graphs.stored([a])).toEqual([{ ...a, revision: 1, graph: OTHER }]);
    });

    test('are written by one after the other, each seeing what the one before did', async () => {
      const { graphs } = subject();
      const a = saga();
      const next = () =>
        graphs.exclusively(async (writer) => {
          const revision = (await writer.stored([a])).length + 1;
          await writer.put({ ...a, revision, graph: GRAPH });
          return revision;
        });
      const revisions = await Promise.all([next(), next(), next(), next()]);
      expect(revisions.sort()).toEqual([1, 2, 3, 4]);
    });

    test('may be accepted to change, once, for the next revision', async () => {
      const { graphs } = subject();
      const a = saga();
      const accept = () => graphs.exclusively((writer) => writer.accept(a));
      const isAccepted = () => graphs.exclusively((writer) => writer.isAccepted(a));
      expect([await accept(), await isAccepted()]).toEqual([false, false]);
      await put({ ...a, revision: 1, graph: GRAPH });
      expect(await isAccepted()).toBe(false);
      expect([await accept(), await isAccepted()]).toEqual([true, true]);
      await put({ ...a, revision: 1, graph: OTHER });
      expect(await isAccepted()).toBe(true);
      await put({ ...a, revision: 2, graph: OTHER });
      expect(await isAccepted()).toBe(false);
    });

    test('that were not agreed on are not stored, and no instance keeps one', async () => {
      const { graphs, store } = subject();
      const { id, name } = await started(store);
      const refused = graphs.exclusively(async (writer) => {
        await writer.put({ name, version: 1, revision: 1, graph: GRAPH });
        await writer.keep({ name, version: 1 }, 1);
        throw new Error('refused');
      });
      await expect(refused).rejects.toThrow('refused');
      expect(await graphs.stored([{ name, version: 1 }])).toEqual([]);
      expect((await loaded(store, id)).graphRevision).toBeUndefined();
    });
  });

  describe('an instance that has not ended', () => {
    /** One of each way not to have ended, and two that have. */
    async function sagas(name: string): Promise<string[]> {
      const { store } = subject();
      const due = await started(store, { name });
      const later = await started(store, { name, delay: 60_000 });
      const running = await held(store, { name });
      const stuck = await held(store, { name });
      const [ended, aborted] = [await held(store, { name }), await held(store, { name })];
      await store.checkpoint([
        checkpointOf(stuck, stateOf('stuck', { reserve: stepOf() }, { heldPhase: 'running' }), {
          release: {},
        }),
        lastCheckpointOf(ended),
        lastCheckpointOf(aborted, 'aborted'),
      ]);
      await started(store, { name, version: 2 });
      const [first, second] = [newSaga({ name, lockKey: 'k' }), newSaga({ name, lockKey: 'k' })];
      await store.start([first, second], WORKER);
      await claimed(store, name);
      return [due, later, running, stuck, first, second].map(({ id }) => id).sort();
    }

    test('is found wherever it waits, once each, at once or in pages of any size', async () => {
      const { graphs } = subject();
      const a = saga();
      const ids = await sagas(a.name);
      expect((await unfinishedOf(graphs, a)).map(({ id }) => id).sort()).toEqual(ids);
      for (const limit of [1, 2, 3, 100]) expect(await pagedIds(graphs, a, limit)).toEqual(ids);
      expect(await pagedIds(graphs, saga(), 10)).toEqual([]);
    });

    test('is shown where it stands', async () => {
      const { graphs, store } = subject();
      const given = await held(store);
      const steps = {
        reserve: stepOf({ result: '1' }),
        charge: stepOf({ status: 'failed', unknown: true, failures: 2 }),
      };
      await store.checkpoint([checkpointOf(given, stateOf('running', steps))]);
      await store.edit({ id: given.id }, () => ({ requestCancel: { reason: 'enough' } }));
      const [found] = await unfinishedOf(graphs, given);
      expect(found).toMatchObject({
        ...{ id: given.id, name: given.name, version: 1, lockedBy: WORKER.worker },
        // Why, is for those who read the whole.
        cancelRequested: expect.any(Object),
        state: { status: 'running' },
      });
      const { status, unknown, failures } = found!.state.steps.get('charge')!;
      expect({ status, unknown, failures }).toEqual({ status: 'failed', unknown: true, failures: 2 });
      expect([...found!.state.steps.keys()].sort()).toEqual(['charge', 'reserve']);
    });

    test('keeps the given revision, unless it keeps another already, or nothing has begun of it', async () => {
      const { graphs, store } = subject();
      const a = saga();
      const ids = await sagas(a.name);
      const ended = (await store.find({ name: a.name, status: ['completed'], limit: 1 }))[0]!.id;
      await graphs.exclusively((writer) => writer.keep(a, 1));
      const younger = await held(store, { name: a.name });
      await graphs.exclusively((writer) => writer.keep(a, 2));
      const revisionOf = async (id: string) => (await loaded(store, id)).graphRevision;
      const all = await unfinishedOf(graphs, a);
      const adopting = all.filter((one) => adoptsGraph(one)).map(({ id }) => id);
      expect(adopting.length).toBeGreaterThan(1);
      for (const id of ids) expect(await revisionOf(id)).toBe(adopting.includes(id) ? undefined : 1);
      expect(await Promise.all([younger.id, ended].map(revisionOf))).toEqual([2, undefined]);
      expect(all).toHaveLength(ids.length + 1);
    });

    test('is returned to the worker that claims it, whose checkpoints keep it', async () => {
      const { graphs, store } = subject();
      const given = await held(store);
      await graphs.exclusively((writer) => writer.keep(given, 1));
      await store.checkpoint([checkpointOf(given, stateOf('running'), { release: { dueAt: 0 } })]);
      const [taken] = (await claimed(store, given.name)).sagas;
      expect(taken!.graphRevision).toBe(1);
      await store.checkpoint([
        checkpointOf(taken!, stateOf('running', { reserve: stepOf() }), { release: { dueAt: 0 } }),
      ]);
      expect((await loaded(store, given.id)).graphRevision).toBe(1);
    });
  });

  describe('the turn at moving instances to a version', () => {
    const LEASE = 30_000;
    const taken = async () => {
      const to = saga();
      await put({ ...to, revision: 1, graph: GRAPH });
      await put({ ...to, revision: 2, graph: OTHER });
      expect(await subject().graphs.takeTurn(to, LEASE, false)).toEqual({});
      return to;
    };

    test.each([true, false])(
      'is one process’s until it ends or its lease runs out (at once: %s)',
      async (atOnce) => {
        const { graphs, advance } = subject();
        const to = await taken();
        const { dueIn } = (await graphs.takeTurn(to, LEASE, atOnce)) as { dueIn: number };
        expect(Math.abs(dueIn - LEASE)).toBeLessThan(20_000);
        await advance(LEASE);
        expect(await graphs.takeTurn(to, LEASE, atOnce)).toEqual({});
      },
    );

    test('goes on with what the last one left, when that is due, or immediately', async () => {
      const { graphs, advance } = subject();
      const to = await taken();
      await graphs.endTurn(to, '{"next":"a"}', 60_000);
      expect(await graphs.takeTurn(to, LEASE, false)).toEqual({ dueIn: expect.any(Number) });
      expect(await graphs.takeTurn(to, LEASE, true)).toEqual({ progress: '{"next":"a"}' });
      await graphs.endTurn(to, '{"next":"b"}', 60_000);
      await advance(60_000);
      expect(await graphs.takeTurn(to, LEASE, false)).toEqual({ progress: '{"next":"b"}' });
    });
  });

  describe('a move to another version', () => {
    test('takes the saga to the newest graph there, and leaves what happened to it', async () => {
      const { graphs, store } = subject();
      const given = await held(store, { input: '1' });
      const state = stateOf('running', { reserve: stepOf({ result: '"r"' }) });
      await store.checkpoint([checkpointOf(given, state, { release: {} })]);
      await graphs.exclusively((writer) => writer.keep(given, 3));
      const before = await loaded(store, given.id);
      const moved = await store.edit({ id: given.id }, (s) => ({
        ...{ state: s.state, due: true, step: 'ship' },
        version: 2,
      }));
      expect(moved).toMatchObject({ version: 2, epoch: before.epoch + 1, input: '1', state: before.state });
      expect(moved!.graphRevision).toBeUndefined();
      const claim = (version: number) =>
        store.claim({ lease: WORKER, sagas: [{ name: given.name, version }], limit: 1 });
      expect((await claim(1)).sagas).toEqual([]);
      expect((await claim(2)).sagas).toMatchObject([{ id: given.id, state: before.state }]);
    });

    test('can leave one that is to start later to its time', async () => {
      const { store } = subject();
      const given = await started(store, { delay: 60_000 });
      const edited = await store.edit({ id: given.id }, ({ state, dueAt }) => ({
        ...{ state, due: dueAt!, step: '' },
        version: 2,
      }));
      expect(edited).toMatchObject({ version: 2 });
      expect(Math.abs(edited!.dueAt! - given.dueAt!)).toBeLessThan(1);
    });

    test('is none of an edit that names no version', async () => {
      const { graphs, store } = subject();
      const given = await held(store);
      await graphs.exclusively((writer) => writer.keep(given, 1));
      const edited = await store.edit({ id: given.id }, (s) => ({ state: s.state, due: true, step: '' }));
      expect(edited).toMatchObject({ version: 1, graphRevision: 1 });
    });
  });
}
