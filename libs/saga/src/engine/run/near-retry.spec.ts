import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import type { Invoker } from '../ports/invoker.js';
import { AttemptRunner } from '../attempt/attempt-runner.js';
import { CHANCE, log, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import type { SagaRunPorts } from './saga-run-ports.js';
import type { Checkpoint } from '../ports/checkpoint.js';

const policy = (delay: number) => ({ attempts: 3, delay, factor: 1, maxDelay: delay, jitter: 0 });

/** Time that stands still, so that nothing that is waited for comes. */
const STILL = { now: () => 1_000 };

/** A run on the system's clock, and the checkpoints that it writes. */
function scene(graph: SagaGraph, invoke: Invoker, ports: Partial<SagaRunPorts> = {}) {
  const written: Checkpoint[] = [];
  const { now = Date.now } = ports;
  const run = runOf(SAGA, graph, invoke, {
    ...portsTo(written),
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now, log }),
    ...ports,
    now,
  });
  return { run, written };
}

function failing(times: number, method = 'pay'): Invoker {
  let left = times;
  return (called) => {
    if (called === method && left-- > 0) throw new Error('not yet');
  };
}

describe('a retry that is near', () => {
  const graph = (delay: number) => sequenceOf(stepOf('pay', { retry: policy(delay) }));

  test('is waited for with the lease, once the failure is stored', async () => {
    const { run, written } = scene(graph(10), failing(2));
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
    expect(written.map(({ release }) => release !== undefined)).toEqual([false, false, true]);
    expect(written.map(({ state }) => state.steps.get('pay')?.failures)).toEqual([1, 2, 2]);
  });

  test('of a compensation as well', async () => {
    const steps = [stepOf('book', { compensate: 'undo', compensationRetry: policy(10) }), stepOf('pay')];
    const invoke = failing(1, 'undo');
    const { run, written } = scene(sequenceOf(...steps), (method, ...given) => {
      if (method === 'pay') throw Object.assign(new Error('no'), { code: 'SAGA_STEP_REJECTED' });
      return invoke(method, ...given);
    });
    await run.advance();
    expect(run.state.status).toBe('compensated');
    expect(written.filter(({ release }) => release !== undefined)).toHaveLength(1);
  });

  test('does not start before its time', async () => {
    const calls: number[] = [];
    const fail = failing(1);
    const { run, written } = scene(graph(40), (...given) => {
      calls.push(Date.now());
      return fail(...given);
    });
    await run.advance();
    expect(calls[1]).toBeGreaterThanOrEqual(written[0]!.state.steps.get('pay')!.retryAt!);
  });

  test('is left to a claim where others wait for the room', async () => {
    const { run, written } = scene(graph(10), failing(2), { ...STILL, hasRoom: () => false });
    expect(await run.advance()).toMatchObject({ type: 'released' });
    expect(written).toHaveLength(1);
    expect(written[0]!.release?.dueAt).toBe(written[0]!.state.steps.get('pay')?.retryAt);
  });

  test('is released immediately when the worker drains', async () => {
    const { run, written } = scene(graph(900), failing(2));
    const ended = run.advance();
    while (written.length === 0) await new Promise(setImmediate);
    run.drain();
    expect(await ended).toMatchObject({ type: 'released' });
    expect(written.map(({ release }) => release?.dueAt)).toEqual([
      undefined,
      written[0]!.state.steps.get('pay')!.retryAt,
    ]);
  });

  test('does not keep a cancellation waiting', async () => {
    const { run, written } = scene(graph(900), failing(2));
    const ended = run.advance();
    while (written.length === 0) await new Promise(setImmediate);
    const before = Date.now();
    run.cancel('manual');
    expect(await ended).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('compensated');
    expect(run.state.steps.get('pay')?.attempts).toBe(1);
    expect(before).toBeLessThan(written[0]!.state.steps.get('pay')!.retryAt!);
  });

  test('stops when the saga is paused', async () => {
    const { run, written } = scene(graph(900), failing(2));
    const ended = run.advance();
    while (written.length === 0) await new Promise(setImmediate);
    run.pause();
    await ended;
    expect(run.state.status).toBe('paused');
  });
});

test('a retry that is far off is left to a claim', async () => {
  const { run } = scene(sequenceOf(stepOf('pay', { retry: policy(5_000) })), failing(2));
  expect(await run.advance()).toMatchObject({ type: 'released' });
});

test('a delay is left to a claim, however near its end is', async () => {
  const { run } = scene(sequenceOf(stepOf('later', { delay: 10 })), failing(0), STILL);
  expect(await run.advance()).toMatchObject({ type: 'released' });
});
