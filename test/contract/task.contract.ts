import fc from 'fast-check';
import { approvalSignal } from '../../libs/saga/src/definition/graph/saga-graph.js';
import type { Edit, SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { Operation } from '../../libs/saga/src/engine/ports/operation.js';
import {
  compareTasks,
  type StoredTask,
  type StoreTaskFilter,
  tasksOf,
} from '../../libs/saga/src/engine/ports/stored-task.js';
import type { NewSaga, StoredSaga } from '../../libs/saga/src/engine/ports/stored-saga.js';
import { openApprovals, openApprovalsAfter } from '../../libs/saga/src/machine/open-approvals.js';
import type { SagaState, StepState } from '../../libs/saga/src/machine/saga-state.js';
import { newId } from '../../libs/saga/src/shared/new-id.js';
import {
  checkpointOf,
  held,
  loaded,
  stateOf,
  stepOf,
  type StoreSubject,
  uniqueName,
  WORKER,
} from './store-subject.contract.js';

const STEPS = ['agree', 'release'];

/** A saga waits for a decision, since that many milliseconds. */
const waiting = (step: string, since: number, given: Partial<StepState['wait'] & object> = {}): StepState =>
  stepOf({ status: 'waiting', wait: { signal: approvalSignal(step), since, ...given } });

const proposal = (by: string, step: string): Operation => ({
  ...{ id: newId(), action: 'approve', by, step, from: 'running', revision: 0, proposed: true },
});

const decided = (step: string): Edit => ({
  signal: { name: approvalSignal(step), messageId: newId(), payload: '{"approved":true,"by":"ann"}' },
});

/** What a look at each of these sagas says. */
async function scanned(store: SagaStore, ids: readonly string[]): Promise<StoredTask[]> {
  const sagas = await Promise.all(ids.map((id) => loaded(store, id)));
  return sagas.flatMap((saga) => tasksOf(saga)).sort(compareTasks);
}

const placesOf = (tasks: readonly StoredTask[]) => tasks.map(({ id, step, since }) => ({ id, step, since }));

/** What happens to one of the sagas in a random history. */
interface Happening {
  readonly what: 'checkpoint' | 'batch' | 'edit' | 'decide' | 'put back' | 'fenced' | 'repeat';
  readonly saga: number;
  readonly status: SagaState['status'];
  /** For each step: 0 it waits, 1 it is decided, 2 it is done, 3 nothing has happened, 4 it is pruned, 5 as before. */
  readonly steps: readonly number[];
  readonly releases: boolean;
}

const HAPPENING: fc.Arbitrary<Happening> = fc.record({
  what: fc.constantFrom(
    ...([
      'checkpoint',
      'checkpoint',
      'batch',
      'edit',
      'decide',
      'decide',
      'put back',
      'fenced',
      'repeat',
    ] as const),
  ),
  saga: fc.nat({ max: 2 }),
  status: fc.constantFrom(
    ...([
      'running',
      'running',
      'running',
      'running',
      'paused',
      'stuck',
      'compensating',
      'completed',
    ] as const),
  ),
  steps: fc.tuple(fc.nat({ max: 5 }), fc.nat({ max: 5 })),
  releases: fc.boolean(),
});

/** The state that follows one, with the signals that its steps have taken. */
function nextState(
  { state, signals = [] }: StoredSaga,
  { status, steps }: Happening,
  now: number,
): SagaState {
  const next = new Map(state.steps);
  let taken = state.lastTakenSignals;
  STEPS.forEach((step, n) => {
    const kind = steps[n];
    if (kind === 0) next.set(step, waiting(step, now + n));
    if (kind === 1) {
      const signal = signals.find(({ name }) => name === approvalSignal(step));
      if (!signal) return;
      taken = { ...taken, [signal.name]: signal.number };
      next.set(step, waiting(step, now + n, { takenSignal: signal.number }));
    }
    if (kind === 2) next.set(step, stepOf());
    if (kind === 3) next.delete(step);
    if (kind === 4) next.set(step, { ...waiting(step, now), pruned: true });
  });
  // A row that was written stays.
  for (const step of state.steps.keys()) if (!next.has(step)) next.set(step, stepOf({ status: 'pending' }));
  return stateOf(status, Object.fromEntries(next), taken && { lastTakenSignals: taken });
}

export function describeTasks(subject: () => StoreSubject): void {
  const tasks = (filter: Partial<StoreTaskFilter> = {}) => subject().store.tasks({ limit: 100, ...filter });
  const edit = (id: string, change: Edit) => subject().store.edit({ id }, () => change);
  /** A saga of which these steps wait. */
  const open = async (steps: Record<string, number>, given: Partial<NewSaga> = {}) => {
    const saga = await held(subject().store, given);
    const state = stateOf(
      'running',
      Object.fromEntries(Object.entries(steps).map(([step, since]) => [step, waiting(step, since)])),
    );
    const checkpoint = checkpointOf(saga, state, { openApprovals: openApprovals(state), release: {} });
    expect(await subject().store.checkpoint([checkpoint])).toEqual(['saved']);
    return loaded(subject().store, saga.id);
  };

  describe('the tasks of a store', () => {
    test('are the steps that wait for a decision, with their sagas', async () => {
      const tags = { country: 'fr' };
      const saga = await open({ agree: 5_000 }, { correlationId: uniqueName(), tags });
      const { id, name, correlationId } = saga;
      expect(await tasks({ name })).toEqual([
        { id, name, version: 1, correlationId, tags, step: 'agree', since: 5_000 },
      ]);
    });

    test('have the end of the wait, the quorum, and what operators have proposed', async () => {
      const { store } = subject();
      const saga = await held(store);
      const state = stateOf('running', { agree: waiting('agree', 1_000, { until: 9_000, quorum: 2 }) });
      await store.checkpoint([
        checkpointOf(saga, state, { openApprovals: openApprovals(state), release: {} }),
      ]);
      await edit(saga.id, { proposal: true, operation: proposal('ann', 'agree') });
      expect(await tasks({ name: saga.name })).toMatchObject([
        { until: 9_000, quorum: 2, operations: [{ action: 'approve', by: 'ann', proposed: true }] },
      ]);
    });

    test('come oldest first, in pages that follow each other', async () => {
      const name = uniqueName();
      const sagas = [];
      for (const since of [3_000, 1_000, 2_000, 1_000])
        sagas.push(await open({ agree: since, release: since }, { name }));
      const expected = placesOf(
        await scanned(
          subject().store,
          sagas.map(({ id }) => id),
        ),
      );
      expect(expected.map(({ since }) => since)).toEqual([1, 1, 1, 1, 2, 2, 3, 3].map((s) => s * 1_000));
      for (const filter of [{ name }, { name, step: 'agree' }]) {
        const found: StoredTask[] = [];
        for (;;) {
          const page = await tasks({ ...filter, limit: 3, after: found.at(-1) });
          found.push(...page);
          if (page.length < 3) break;
        }
        const wanted = expected.filter(({ step }) => !('step' in filter) || step === filter.step);
        expect(placesOf(found)).toEqual(wanted);
      }
    });

    test('are found by saga, by step, and by tags', async () => {
      const [one, other] = [uniqueName(), uniqueName()];
      const step = uniqueName();
      const a = await open(
        { [step]: 1_000, agree: 2_000 },
        { name: one, tags: { country: 'fr', kind: 'x' } },
      );
      const b = await open({ [step]: 3_000 }, { name: other, tags: { country: 'de' } });
      const ids = async (filter: Partial<StoreTaskFilter>) =>
        (await tasks(filter)).map(({ id, step: of }) => [id, of]);
      expect(await ids({ name: one })).toEqual([
        [a.id, step],
        [a.id, 'agree'],
      ]);
      expect(await ids({ step })).toEqual([
        [a.id, step],
        [b.id, step],
      ]);
      expect(await ids({ name: other, step })).toEqual([[b.id, step]]);
      expect(await ids({ name: other, step: 'agree' })).toEqual([]);
      expect(await ids({ step, tags: { country: 'fr' } })).toEqual([[a.id, step]]);
      expect(await ids({ step, tags: {} })).toHaveLength(2);
      expect(await ids({ name: one, step, tags: { country: 'de' } })).toEqual([]);
    });

    test('are gone with the decision, before the saga has taken it', async () => {
      const saga = await open({ agree: 1_000, release: 2_000 });
      await edit(saga.id, decided('agree'));
      expect((await tasks({ name: saga.name })).map(({ step }) => step)).toEqual(['release']);
      // What the saga records meanwhile does not bring it back.
      const { state, version } = await loaded(subject().store, saga.id);
      await edit(saga.id, { state: { ...state, status: 'paused' }, due: false, step: '' });
      expect(await tasks({ name: saga.name })).toEqual([]);
      await edit(saga.id, { state, due: true, step: '', version });
      expect((await tasks({ name: saga.name })).map(({ step }) => step)).toEqual(['release']);
    });

    test('are none of an approval whose decision came first', async () => {
      const { store } = subject();
      const saga = await held(store);
      await edit(saga.id, decided('agree'));
      const state = stateOf('running', {
        agree: waiting('agree', 1_000),
        release: waiting('release', 1_000),
      });
      await store.checkpoint([checkpointOf(saga, state, { openApprovals: openApprovals(state) })]);
      expect((await tasks({ name: saga.name })).map(({ step }) => step)).toEqual(['release']);
    });

    test('are what a look at each saga says, whatever happens to the sagas', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(HAPPENING, { minLength: 8, maxLength: 16 }), async (history) => {
          const { store } = subject();
          const name = uniqueName();
          const sagas = [
            await held(store, { name }),
            await held(store, { name }),
            await held(store, { name }),
          ];
          const ids = sagas.map(({ id }) => id);
          let now = 1_000;
          for (const happening of history) {
            now += 10;
            const saga = await loaded(store, ids[happening.saga]!);
            if (saga.finishedAt !== undefined) continue;
            await happens(store, saga, happening, now, ids);
            expect(placesOf(await tasks({ name }))).toEqual(placesOf(await scanned(store, ids)));
          }
        }),
        { numRuns: 12 },
      );
    });
  });
}

async function happens(
  store: SagaStore,
  saga: StoredSaga,
  happening: Happening,
  now: number,
  ids: readonly string[],
): Promise<void> {
  const { what, steps, releases } = happening;
  const state = nextState(saga, happening, now);
  const made = checkpointOf(saga, state, {
    ...{ number: saga.checkpoints + 1, openApprovals: openApprovalsAfter(saga.state, state) },
    ...{ cancelSeen: true, pauseSeen: true },
    ...(releases && { release: {} }),
  });
  if (what === 'checkpoint' || what === 'repeat') {
    expect(await store.checkpoint([made])).toEqual(['saved']);
    if (what === 'repeat') expect(await store.checkpoint([made])).toEqual(['saved']);
  }
  if (what === 'fenced')
    expect(await store.checkpoint([{ ...made, epoch: saga.epoch + 1 }])).toEqual(['fenced']);
  if (what === 'batch') {
    const others = await Promise.all(ids.filter((id) => id !== saga.id).map((id) => loaded(store, id)));
    const batch = others.filter(({ finishedAt }) => finishedAt === undefined);
    const more = batch.map((other) => {
      const next = nextState(other, happening, now + 5);
      const changes = { number: other.checkpoints + 1, openApprovals: openApprovalsAfter(other.state, next) };
      return checkpointOf(other, next, changes);
    });
    // One of them is late.
    const [first, ...rest] = more;
    await store.checkpoint([made, ...(first ? [{ ...first, epoch: 0 }] : []), ...rest]);
  }
  if (what === 'edit') await store.edit(saga, () => ({ state, due: true, step: '' }));
  if (what === 'decide') {
    const step = STEPS[steps[0]! % 2]!;
    const isPending = saga.signals?.some(({ name }) => name === approvalSignal(step));
    if (!isPending) await store.edit(saga, () => decided(step));
  }
  if (what === 'put back') {
    const checkpoint = { ...made, number: saga.checkpoints + 3, openApprovals: openApprovals(state) };
    const lease = releases ? undefined : WORKER;
    await store.edit(saga, () => ({ putBack: { checkpoint, lease, storedAt: 5_000 } }));
  }
}
