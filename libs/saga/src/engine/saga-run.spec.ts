import { sequenceOf, stepOf } from '../machine/graph-of.contract.js';
import { INITIAL, PENDING } from '../machine/saga-state.js';
import { AttemptRunner } from './attempt-runner.js';
import { ChildSagas } from './child-sagas.js';
import { SagaRun, type SagaRunPorts } from './saga-run.js';
import type { Checkpoint, StoredSaga } from './saga-store.js';

const SAGA: StoredSaga = {
  id: '01920000-0000-7000-8000-000000000001',
  name: 'test',
  version: 1,
  priority: 0,
  state: INITIAL,
  epoch: 1,
  takeovers: 0,
  createdAt: 0,
  updatedAt: 0,
  stepTimes: new Map(),
};

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
    const ports = { ended: async () => [ended], edit: async () => undefined, now: () => 0 };
    const children = new ChildSagas({ ...ports, latest: undefined as never });
    const run = new SagaRun({ ...SAGA, state }, graph, bill, { ...portsTo(written), children });
    expect(await run.advance()).toMatchObject({ type: 'settled', state: { status: 'completed' } });
    expect(storedBefore).toBe('completed');
  });
});

/** A run that nothing is asked of from outside. */
function portsTo(written: Checkpoint[]): SagaRunPorts {
  return {
    attempts: new AttemptRunner({ maxPayloadBytes: 1_000, now: () => 0, random: () => 0, log }),
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
    log,
  };
}

function gate(): { open(): void; passed: Promise<void> } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}
