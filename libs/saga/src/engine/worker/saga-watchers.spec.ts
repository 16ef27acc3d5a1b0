import { SAGA } from '../../../../../test/fixtures/run-of.js';
import { SagaNotFoundError, SagaUnavailableError } from '../../errors.js';
import type { SagaStatus } from '../../definition/types/saga-status.js';
import { VirtualTime } from '../../testing/virtual-time.js';
import { type SagaChange, seenOf, type SeenSaga } from '../ports/saga-store.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { type SagaWatcher, SagaWatchers } from './saga-watchers.js';

const saga = (id: string, checkpoints = 0, status: SagaStatus = 'running'): StoredSaga => ({
  ...SAGA,
  ...{ id, checkpoints, state: { ...SAGA.state, status } },
});

class Scene {
  readonly time = new VirtualTime(0);
  readonly stored = new Map<string, StoredSaga>();
  /** When which sagas were asked for. */
  readonly queries: [number, string[]][] = [];
  broken = false;
  readonly watchers: SagaWatchers;

  constructor(interval = 100) {
    const clock = this.time.clockOf({ isAlive: true });
    this.watchers = new SagaWatchers({ store: { changes: (asked) => this.changes(asked) }, clock, interval });
  }

  put(...sagas: StoredSaga[]): void {
    for (const one of sagas) this.stored.set(one.id, one);
  }

  watch(one: StoredSaga): { states: (number | string)[]; leave: () => void } {
    const states: (number | string)[] = [];
    const watcher: SagaWatcher = {
      changed: ({ checkpoints }) => states.push(checkpoints),
      failed: (error) => states.push(error.constructor.name),
    };
    this.put(...(this.stored.has(one.id) ? [] : [one]));
    return { states, leave: this.watchers.watch(one, watcher) };
  }

  async proceedTo(time: number): Promise<void> {
    for (; this.time.next !== undefined && this.time.next <= time; await new Promise(setImmediate))
      this.time.proceed();
    this.time.proceedTo(time);
    await new Promise(setImmediate);
  }

  private async changes(asked: readonly SeenSaga[]): Promise<SagaChange[]> {
    this.queries.push([this.time.now, asked.map(({ id }) => id)]);
    if (this.broken) throw new Error('the connection was lost');
    return asked.flatMap(({ id, seen }) => {
      const one = this.stored.get(id);
      const now = one ? seenOf(one) : '';
      return now === seen ? [] : { id, seen: now, saga: one };
    });
  }
}

test('one query asks for all sagas that are watched; it is made less often without changes', async () => {
  const scene = new Scene();
  scene.watch(saga('a'));
  scene.watch(saga('a'));
  scene.watch(saga('b'));
  await scene.proceedTo(4_000);
  expect(scene.queries.map(([, ids]) => ids).every((ids) => ids.join() === 'a,b')).toBe(true);
  expect(scene.queries.map(([at]) => at)).toEqual([
    100, 200, 350, 575, 912.5, 1418.75, 2178.125, 2978.125, 3778.125,
  ]);
  scene.put(saga('b', 1));
  await scene.proceedTo(4_700);
  // The one that has changed is asked for at the interval again.
  expect(scene.queries.slice(9)).toEqual([
    [4578.125, ['a', 'b']],
    [4678.125, ['b']],
  ]);
});

test('without watchers nothing is asked', async () => {
  const scene = new Scene();
  const { leave } = scene.watch(saga('a'));
  const other = scene.watch(saga('a'));
  leave();
  expect(scene.watchers.size).toBe(1);
  other.leave();
  await scene.proceedTo(10_000);
  scene.watchers.hint('a');
  expect([scene.queries, scene.watchers.size, scene.time.next]).toEqual([[], 0, undefined]);
});

test('states come in order, the newest only, and each once', async () => {
  const scene = new Scene();
  const { states } = scene.watch(saga('a', 3));
  scene.put(saga('a', 4));
  scene.put(saga('a', 7));
  await scene.proceedTo(150);
  scene.put(saga('a', 6));
  await scene.proceedTo(400);
  scene.put(saga('a', 8));
  await scene.proceedTo(2_000);
  expect(states).toEqual([7, 8]);
});

test('who comes later receives what the others know, and an older state is never delivered', async () => {
  const scene = new Scene();
  const first = scene.watch(saga('a', 1));
  scene.put(saga('a', 5));
  await scene.proceedTo(100);
  const second = scene.watch(saga('a', 2));
  const third = scene.watch(saga('a', 5));
  await scene.proceedTo(1_000);
  expect([first.states, second.states, third.states]).toEqual([[5], [5], []]);
});

test('what happens in this process is asked for at once, but not more often than every 50 ms', async () => {
  const scene = new Scene();
  const { states } = scene.watch(saga('a'));
  for (let n = 1; n <= 20; n += 1) {
    scene.put(saga('a', n));
    scene.watchers.hint('a');
    scene.watchers.hint('another');
    await scene.proceedTo(n * 5);
  }
  expect(scene.queries.map(([at]) => at)).toEqual([0, 50, 100]);
  expect(states.at(-1)).toBe(20);
});

test('with hints alone, nothing is asked in between', async () => {
  const scene = new Scene(Infinity);
  const { states } = scene.watch(saga('a'));
  await scene.proceedTo(1e9);
  expect([scene.queries, scene.time.next]).toEqual([[], undefined]);
  scene.put(saga('a', 1));
  scene.watchers.hint('a');
  await scene.proceedTo(1e9 + 1);
  expect(states).toEqual([1]);
});

test.each(['completed', 'compensated', 'aborted'] as const)(
  'a saga that is %s is not watched any more',
  async (status) => {
    const scene = new Scene();
    const { states } = scene.watch(saga('a'));
    scene.put(saga('a', 1, status));
    await scene.proceedTo(10_000);
    expect([states, scene.queries.length, scene.watchers.size]).toEqual([[1], 1, 0]);
  },
);

test('a saga that needs attention is still watched', async () => {
  const scene = new Scene();
  const { states } = scene.watch(saga('a'));
  scene.put(saga('a', 1, 'stuck'));
  await scene.proceedTo(500);
  scene.put(saga('a', 2));
  await scene.proceedTo(3_000);
  expect([states, scene.watchers.size]).toEqual([[1, 2], 1]);
});

test('a saga that is deleted, or that this process cannot read, ends its watchers with an error', async () => {
  const scene = new Scene();
  const { states } = scene.watch(saga('a'));
  scene.stored.delete('a');
  await scene.proceedTo(500);
  expect([states, scene.watchers.size]).toEqual([[SagaNotFoundError.name], 0]);
});

test('a query that fails is made again at the interval', async () => {
  const scene = new Scene();
  const { states } = scene.watch(saga('a'));
  scene.broken = true;
  await scene.proceedTo(250);
  scene.broken = false;
  scene.put(saga('a', 1));
  await scene.proceedTo(400);
  expect([scene.queries.map(([at]) => at), states]).toEqual([[100, 200, 350], [1]]);
});

test('at shutdown all watchers fail, and so do those that come later', async () => {
  const scene = new Scene();
  const [first, second] = [scene.watch(saga('a')), scene.watch(saga('b'))];
  scene.watchers.close();
  const late = scene.watch(saga('a'));
  await scene.proceedTo(5_000);
  const failed = [SagaUnavailableError.name];
  expect([first.states, second.states, late.states, scene.queries]).toEqual([failed, failed, failed, []]);
});

test('ten thousand sagas are asked for by statements of 5,000', async () => {
  const scene = new Scene();
  for (let n = 0; n < 10_000; n += 1) scene.watch(saga(`${n}`));
  await scene.proceedTo(100);
  expect(scene.queries.map(([, ids]) => ids.length)).toEqual([5_000, 5_000]);
});
