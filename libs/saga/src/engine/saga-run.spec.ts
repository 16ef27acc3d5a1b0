import { sequenceOf, stepOf } from '../machine/graph-of.contract.js';
import { INITIAL } from '../machine/saga-state.js';
import { AttemptRunner } from './attempt-runner.js';
import { SagaRun } from './saga-run.js';
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
      attempts: new AttemptRunner({ maxPayloadBytes: 1_000, now: () => 0, random: () => 0, log }),
      checkpoint: async (checkpoint) => {
        written.push(checkpoint);
        return 'saved';
      },
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
      reserve: async () => ({ times: [], now: 0 }),
      now: () => 0,
      maxPayloadBytes: 1_000,
      cancellation: async () => undefined,
      children: undefined as never,
      log,
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

function gate(): { open(): void; passed: Promise<void> } {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { open, passed };
}
