import { resolveRetryPolicy } from '../../definition/options/retry-policy.js';
import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { gate, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import type { SagaRunPorts } from './saga-run-ports.js';
import type { Checkpoint } from '../ports/checkpoint.js';

const ONCE = resolveRetryPolicy({ attempts: 1 });

describe('what a saga was sent', () => {
  const reply = (name: string, options = {}) =>
    stepOf(name, { kind: 'signal', wait: { signal: 'reply' }, retry: ONCE, ...options });
  const sent = (number: number, name = 'reply', payload = 'null') => ({
    ...{ number, name, payload, messageId: `m${number}`, at: 0 },
  });
  const waiting = (signal: string, until?: number) =>
    ({ ...PENDING, status: 'waiting', wait: { signal, ...(until !== undefined && { until }) } }) as const;
  const stateWith = (steps: Record<string, StepState>): SagaState => ({
    ...INITIAL,
    steps: new Map(Object.entries(steps)),
  });

  it('is not lost with a wait that a transaction, about to be committed, has cut', async () => {
    const [staged, arrived, committed] = [gate(), gate(), gate()];
    const graph = graphOf(
      reply('early'),
      stepOf('book', { transactional: true }),
      stepOf('won', { after: ['early', 'book'], join: 'any' }),
      reply('late', { after: ['won'] }),
    );
    const transact: SagaRunPorts['transact'] = async (work) => {
      const checkpoint = await work({ transaction: undefined });
      staged.open();
      await committed.passed;
      written.push(checkpoint);
      return 'saved';
    };
    const written: Checkpoint[] = [];
    const pendingSignals = async () => {
      arrived.open();
      return [sent(1)];
    };
    const run = runOf(SAGA, graph, () => 'done', { ...portsTo(written), transact, pendingSignals });
    const ended = run.advance();
    await staged.passed;
    run.look();
    await arrived.passed;
    await new Promise((resolve) => setImmediate(resolve));
    committed.open();
    expect(await ended).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
    const { steps } = written.at(-1)!.state;
    expect([steps.get('early')?.status, steps.get('late')?.status]).toEqual(['skipped', 'completed']);
  });

  it('is not asked for, where nothing is over', async () => {
    let now = 0;
    let asked = 0;
    const pendingSignals = async () => ((asked += 1), []);
    // Each look at the clock takes its time.
    const ports = { ...portsTo([]), now: () => (now += 0.01), pendingSignals };
    const timed = reply('reply', { wait: { signal: 'reply', timeout: 60_000 } });
    const run = runOf(SAGA, graphOf(stepOf('pay'), timed), () => 'done', ports);
    expect(await run.advance()).toMatchObject({ type: 'released' });
    expect(asked).toBe(0);
  });

  it('may be what a lost worker was at, whatever was refused meanwhile', async () => {
    const ask = stepOf('ask', { kind: 'approval', wait: { signal: 'approval:ask' } });
    const graph = graphOf(ask, reply('reply'));
    const signals = [sent(1), sent(2, 'approval:ask', '{"approved":false,"by":"Ann"}')];
    const state = stateWith({ ask: waiting('approval:ask'), reply: waiting('reply') });
    const called: string[] = [];
    const run = runOf({ ...SAGA, state, signals }, graph, (method) => void called.push(method), portsTo([]));
    run.begin([{ type: 'taken-over', count: 1, bound: 3, now: 0 }]);
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('compensated');
    expect(called).toEqual(['undo reply']);
  });

  it('is taken once the saga is back at its savepoint, if it came while it rolled back and in time', async () => {
    const graph = graphOf(stepOf('pack', { savepoint: { attempts: 3 } }), reply('reply'));
    const steps = stateWith({ pack: { ...PENDING, status: 'completed' }, reply: waiting('reply', 50) });
    const state: SagaState = { ...steps, status: 'compensating', rollbackTo: 'pack' };
    const ports = { ...portsTo([]), now: () => 600 };
    const run = runOf({ ...SAGA, state, signals: [sent(1)] }, graph, () => 'taken', ports);
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
  });

  it('is looked for before a wait expires, because the notification may have been lost', async () => {
    const state = stateWith({ reply: waiting('reply', 50) });
    const graph = graphOf(reply('reply'), stepOf('slow'));
    let now = 0;
    const slow = gate();
    const invoke = async (method: string) => {
      if (method !== 'slow') return slow.open();
      now = 600;
      await slow.passed;
    };
    const pendingSignals = async () => [sent(1)];
    const run = runOf({ ...SAGA, state }, graph, invoke, { ...portsTo([]), now: () => now, pendingSignals });
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
  });
});
