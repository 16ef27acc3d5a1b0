import { v7 as uuidv7 } from 'uuid';
import { graphOf, sequenceOf, stepOf } from '../machine/graph-of.contract.js';
import { INITIAL, PENDING } from '../machine/saga-state.js';
import { AttemptRunner } from './attempt-runner.js';
import { ChildSagas } from './child-sagas.js';
import { systemClock } from './clock.js';
import { SagaRun, type SagaRunPorts } from './saga-run.js';
import type { Checkpoint, StoredSaga } from './saga-store.js';

const SAGA: StoredSaga = {
  id: '01920000-0000-7000-8000-000000000001',
  name: 'test',
  version: 1,
  priority: 0,
  state: INITIAL,
  epoch: 1,
  checkpoints: 0,
  takeovers: 0,
  createdAt: 0,
  updatedAt: 0,
  stepTimes: new Map(),
};

const CHANCE = { clock: systemClock, random: () => 0 };
const log = { debug: () => undefined, log: () => undefined, warn: () => undefined, error: () => undefined };

describe('what a transactional step committed', () => {
  test.each([
    ['is still there', sequenceOf(stepOf('book', { transactional: true }), stepOf('next'))],
    ['and finished is still finished', sequenceOf(stepOf('book', { transactional: true }))],
  ])('%s when shutdown interrupts the run during the commit', async (_, graph) => {
    const written: Checkpoint[] = [];
    const [staged, committed] = [gate(), gate()];
    const run = new SagaRun(SAGA, graph, () => 'booked', {
      ...portsTo(written),
      store: {
        transact: async (work) => {
          const checkpoint = await work(undefined as never);
          staged.open();
          await committed.passed;
          written.push(checkpoint);
          return 'saved';
        },
        edit: async () => undefined,
        isTransient: () => false,
      },
    });
    const ended = run.advance();
    await staged.passed;
    run.drain();
    run.interrupt();
    // As far as it comes without the commit.
    await new Promise((resolve) => setImmediate(resolve));
    committed.open();
    await ended;
    const last = written.at(-1)!;
    expect(last.state.steps.get('book')).toMatchObject({ status: 'completed', result: '"booked"' });
    expect(last.state.status).toBe(graph.steps.size === 1 ? 'completed' : 'running');
  });
});

describe('what a sub-saga came to', () => {
  it('is stored before anything follows from it, so that whoever takes over knows what may have begun', async () => {
    const subSaga = stepOf('ship', { kind: 'sub-saga', compensate: undefined });
    const graph = sequenceOf(subSaga, stepOf('bill'));
    const child = { id: '01920000-0000-7000-8000-000000000002', phase: 'running' } as const;
    const waiting = { ...PENDING, status: 'waiting', attempts: 1, child } as const;
    const state = { ...INITIAL, steps: new Map([['ship', waiting]]) };
    const ended = { ...SAGA, id: child.id, state: { ...INITIAL, status: 'completed' } } as const;
    const written: Checkpoint[] = [];
    let storedBefore: unknown;
    const bill = () => (storedBefore = written.at(-1)?.state.steps.get('ship')?.status);
    const ports = { ended: async () => [ended], edit: async () => undefined, now: () => 0, newId: uuidv7 };
    const children = new ChildSagas({ ...ports, latest: undefined as never });
    const run = new SagaRun({ ...SAGA, state }, graph, bill, { ...portsTo(written), children });
    expect(await run.advance()).toMatchObject({ type: 'settled', state: { status: 'completed' } });
    expect(storedBefore).toBe('completed');
  });
});

/** A run that nothing is asked of from outside. */
function portsTo(written: Checkpoint[]): SagaRunPorts {
  return {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => 0, log }),
    checkpoint: async (checkpoint) => {
      written.push(checkpoint);
      return 'saved';
    },
    store: undefined as never,
    reserve: async () => ({ times: [], now: 0 }),
    now: () => 0,
    maxPayloadBytes: 1_000,
    cancellation: async () => undefined,
    children: undefined as never,
    ...CHANCE,
    log,
  };
}
test('a step begins once what it waited for is recorded, whenever its delay is over', async () => {
  const graph = sequenceOf(stepOf('first'), stepOf('next', { delay: 10 }));
  const early: string[] = [];
  // The delay of 10 ms is over between any two looks at the clock.
  for (let pace = 1; pace <= 20; pace += 1) {
    let [now, recorded] = [0, 'nothing'];
    const invoke = (method: string) => {
      if (method === 'next' && recorded !== 'completed')
        early.push(`at a pace of ${pace} ms: first is recorded as ${recorded}`);
    };
    const run = new SagaRun(SAGA, graph, invoke, {
      attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => now, log }),
      checkpoint: async ({ state }) => {
        recorded = state.steps.get('first')?.status ?? 'nothing';
        return 'saved';
      },
      store: { transact: async () => 'saved', edit: async () => undefined, isTransient: () => false },
      reserve: async () => ({ times: [], now: 0 }),
      now: () => (now += pace),
      maxPayloadBytes: 1_000,
      cancellation: async () => undefined,
      children: undefined as never,
      ...CHANCE,
      log,
    });
    await run.advance();
    expect(recorded).toBe('completed');
  }
  expect(early).toEqual([]);
});

test('a delay is recorded before it is over: whoever takes over knows that the step may have begun', async () => {
  const graph = graphOf(stepOf('other'), stepOf('delayed', { delay: 5 }));
  const begun = gate();
  let recorded: string | undefined;
  let known: string | undefined;
  const invoke = async (method: string) => {
    if (method === 'other') return begun.passed;
    known = recorded;
    begun.open();
  };
  const run = new SagaRun(SAGA, graph, invoke, {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: Date.now, log }),
    checkpoint: async ({ state }) => {
      recorded = state.steps.get('delayed')?.status;
      return 'saved';
    },
    store: { transact: async () => 'saved', edit: async () => undefined, isTransient: () => false },
    reserve: async () => ({ times: [], now: 0 }),
    now: Date.now,
    maxPayloadBytes: 1_000,
    cancellation: async () => undefined,
    children: undefined as never,
    ...CHANCE,
    log,
  });
  expect(await run.advance()).toMatchObject({ type: 'settled', state: { status: 'completed' } });
  expect(known).toBe('waiting');
});

test('a cancellation that is found as the start of an at-most-once step is recorded is heeded at once', async () => {
  const graph = sequenceOf(stepOf('book', { idempotent: false }));
  const called: string[] = [];
  const run = new SagaRun(SAGA, graph, (method) => void called.push(method), {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => 0, log }),
    checkpoint: async ({ cancelSeen }) => (cancelSeen ? 'saved' : 'cancelled'),
    store: { transact: async () => 'saved', edit: async () => undefined, isTransient: () => false },
    reserve: async () => ({ times: [], now: 0 }),
    now: () => 0,
    maxPayloadBytes: 1_000,
    cancellation: async () => ({ reason: 'by hand' }),
    children: undefined as never,
    ...CHANCE,
    log,
  });
  expect(await run.advance()).toMatchObject({ type: 'settled', state: { status: 'compensated' } });
  expect(called).toEqual([]);
});

function gate(): { open(): void; passed: Promise<void> } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}
