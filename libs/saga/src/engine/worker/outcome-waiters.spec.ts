import { SagaNotFoundError, SagaTimeoutError, SagaUnavailableError } from '../../errors.js';
import { INITIAL, type SagaState } from '../../machine/saga-state.js';
import { systemClock } from '../../shared/clock.js';
import { OutcomeWaiters } from './outcome-waiters.js';
import type { StoredSaga } from '../ports/stored-saga.js';

const COMPLETED: SagaState = { ...INITIAL, status: 'completed' };
const stored = (id: string) => ({ id, state: COMPLETED }) as StoredSaga;

class Scene {
  readonly runningHere = new Set<string>();
  /** What each look asked for. */
  readonly looks: string[][] = [];
  settled = new Set<string>();
  readonly gone = new Set<string>();
  broken = false;
  private looked: (() => void)[] = [];
  readonly waiters = new OutcomeWaiters({
    runsHere: (id) => this.runningHere.has(id),
    patience: 0,
    clock: systemClock,
    store: {
      watch: async (ids) => {
        this.looks.push([...ids].sort());
        for (const resolve of this.looked.splice(0)) resolve();
        if (this.broken) throw new Error('connection lost');
        return ids.filter((id) => this.settled.has(id)).map(stored);
      },
      missing: async (ids) => ids.filter((id) => this.gone.has(id)),
    },
  });

  async look(count: number): Promise<void> {
    while (this.looks.length < count) await new Promise<void>((resolve) => this.looked.push(resolve));
    await new Promise(setImmediate);
  }
}

test('a saga that runs here is waited for without asking the store', async () => {
  const { waiters, runningHere, looks } = new Scene();
  runningHere.add('a');
  const outcomes = [waiters.wait('a'), waiters.wait('a')];
  expect(waiters.waitsForOthers).toBe(false);
  waiters.settled({ id: 'a', state: COMPLETED });
  expect(await Promise.all(outcomes)).toEqual([
    { id: 'a', state: COMPLETED },
    { id: 'a', state: COMPLETED },
  ]);
  expect(looks).toEqual([]);
});

test('many that run elsewhere are asked for together', async () => {
  const scene = new Scene();
  scene.settled = new Set(['a', 'c']);
  const outcomes = ['a', 'b', 'c'].map((id) => scene.waiters.wait(id));
  expect(await outcomes[0]).toMatchObject({ id: 'a', state: COMPLETED });
  expect(await outcomes[2]).toMatchObject({ id: 'c' });
  expect(scene.looks).toEqual([['a', 'b', 'c']]);
  expect(scene.waiters.waitsForOthers).toBe(true);
  scene.settled.add('b');
  scene.waiters.left('b');
  expect(await outcomes[1]).toMatchObject({ id: 'b' });
  expect(scene.looks[1]).toEqual(['b']);
  expect(scene.waiters.waitsForOthers).toBe(false);
});

test('a saga that leaves this process is asked for from then on', async () => {
  const scene = new Scene();
  scene.runningHere.add('a');
  const outcome = scene.waiters.wait('a');
  scene.runningHere.delete('a');
  scene.waiters.left('a');
  await scene.look(1);
  scene.settled.add('a');
  scene.waiters.poll();
  expect(await outcome).toMatchObject({ id: 'a' });
});

test('a saga that is not stored does not exist once the transaction that started it has ended, and not before', async () => {
  const scene = new Scene();
  scene.gone.add('a');
  let isOpen = true;
  const outcome = scene.waiters.wait('a', undefined, () => isOpen);
  let isRejected = false;
  outcome.catch(() => (isRejected = true));
  scene.waiters.poll();
  await scene.look(1);
  expect(isRejected).toBe(false);
  isOpen = false;
  scene.waiters.poll();
  await expect(outcome).rejects.toThrow(SagaNotFoundError);
});

test('the store is not asked for a saga without waiters', async () => {
  const scene = new Scene();
  scene.waiters.left('a');
  scene.waiters.settled({ id: 'a', state: COMPLETED });
  scene.waiters.poll();
  await new Promise(setImmediate);
  expect(scene.looks).toEqual([]);
});

test('a look that fails is made again by the poll', async () => {
  const scene = new Scene();
  scene.broken = true;
  const outcome = scene.waiters.wait('a');
  await scene.look(1);
  scene.broken = false;
  scene.settled.add('a');
  scene.waiters.poll();
  expect(await outcome).toMatchObject({ id: 'a' });
});

test.each([[0], [1], [2]])(
  'a timeout ends one wait, the one at place %i of three, not the others',
  async (place) => {
    const scene = new Scene();
    const waits = [0, 1, 2].map((n) => scene.waiters.wait('a', n === place ? 5 : undefined));
    await expect(waits[place]).rejects.toThrow(SagaTimeoutError);
    expect(scene.waiters.waitsForOthers).toBe(true);
    scene.waiters.settled({ id: 'a', state: COMPLETED });
    const patient = waits.filter((_, n) => n !== place);
    expect(await Promise.all(patient)).toEqual([
      { id: 'a', state: COMPLETED },
      { id: 'a', state: COMPLETED },
    ]);
    expect(scene.waiters.waitsForOthers).toBe(false);
  },
);

test('the only waiter leaves no waiter behind when it times out', async () => {
  const scene = new Scene();
  await expect(scene.waiters.wait('a', 5)).rejects.toThrow(SagaTimeoutError);
  expect(scene.waiters.waitsForOthers).toBe(false);
});

test('closing ends every wait', async () => {
  const scene = new Scene();
  const waits = ['a', 'a', 'b'].map((id) => scene.waiters.wait(id));
  scene.waiters.close();
  for (const wait of waits) await expect(wait).rejects.toThrow(SagaUnavailableError);
  expect(scene.waiters.waitsForOthers).toBe(false);
});

test.each([
  ['answers', false],
  ['is gone', true],
])('who comes after closing is answered by what the store says now, if it %s', async (_, broken) => {
  const scene = new Scene();
  scene.settled.add('a');
  scene.waiters.close();
  scene.broken = broken;
  const [settled, other] = [scene.waiters.wait('a'), scene.waiters.wait('b')];
  if (broken) await expect(settled).rejects.toThrow(SagaUnavailableError);
  else expect(await settled).toMatchObject({ id: 'a' });
  await expect(other).rejects.toThrow(SagaUnavailableError);
});

test('a poll ends the wait for a saga that does not exist, and for no other', async () => {
  const scene = new Scene();
  scene.runningHere.add('here');
  for (const id of ['deleted', 'here', 'uncommitted']) scene.gone.add(id);
  let open = true;
  const deleted = scene.waiters.wait('deleted');
  const [here, elsewhere] = [scene.waiters.wait('here'), scene.waiters.wait('elsewhere')];
  const uncommitted = [scene.waiters.wait('uncommitted', undefined, () => open)];
  scene.waiters.poll();
  await expect(deleted).rejects.toThrow(SagaNotFoundError);
  // Who looks at it without knowing of the transaction waits with the one who does.
  uncommitted.push(scene.waiters.wait('uncommitted'));
  open = false;
  scene.waiters.poll();
  for (const wait of uncommitted) await expect(wait).rejects.toThrow(SagaNotFoundError);
  scene.waiters.settled({ id: 'here', state: COMPLETED });
  scene.waiters.settled({ id: 'elsewhere', state: COMPLETED });
  await Promise.all([here, elsewhere]);
});

test('a call whose time is over is answered, if the store is about to answer, and not later than that', async () => {
  const scene = new Scene();
  scene.settled = new Set(['ended']);
  const [ended, running] = [scene.waiters.wait('ended', 0), scene.waiters.wait('running', 0)];
  await expect(running).rejects.toThrow(SagaTimeoutError);
  expect(await ended).toMatchObject({ id: 'ended' });
  expect(scene.looks).toHaveLength(1);
});

test('a call ends within a second after its time, if the store does not answer', async () => {
  const ends: (() => void)[] = [];
  const waiters = new OutcomeWaiters({
    runsHere: () => false,
    patience: 0,
    clock: systemClock,
    store: {
      watch: () => new Promise((resolve) => ends.push(() => resolve([]))),
      missing: async () => [],
    },
  });
  await expect(waiters.wait('a', 0)).rejects.toThrow(SagaTimeoutError);
  expect(ends).toHaveLength(1);
});
