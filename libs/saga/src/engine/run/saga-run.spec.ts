import { randomUUID } from 'node:crypto';
import { SagaUnavailableError } from '../../errors.js';
import type { StepContext } from '../../definition/types/contexts.js';
import { graphOf, sequenceOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState } from '../../machine/saga-state.js';
import { AttemptRunner } from '../attempt/attempt-runner.js';
import { systemClock } from '../../shared/clock.js';
import { SagaRun } from './saga-run.js';
import type { LeasedRun, SagaRunPorts } from './saga-run-ports.js';
import { CALM, CHANCE, gate, log, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import type { Checkpoint } from '../ports/checkpoint.js';

describe('what a transactional step committed', () => {
  test.each([
    ['is still there', sequenceOf(stepOf('book', { transactional: true }), stepOf('next'))],
    ['and finished is still finished', sequenceOf(stepOf('book', { transactional: true }))],
  ])('%s when shutdown interrupts the run during the commit', async (_, graph) => {
    const written: Checkpoint[] = [];
    const [staged, committed] = [gate(), gate()];
    const run = runOf(SAGA, graph, () => 'booked', {
      ...portsTo(written),
      transact: async (work) => {
        const checkpoint = await work({ transaction: undefined });
        staged.open();
        await committed.passed;
        written.push(checkpoint);
        return 'saved';
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

test('a transactional step that ends after the run has given the saga back is rolled back', async () => {
  const written: Checkpoint[] = [];
  const [started, goesOn, rolledBack] = [gate(), gate(), gate()];
  const graph = sequenceOf(stepOf('book', { transactional: true }));
  const book = async () => {
    started.open();
    await goesOn.passed;
  };
  const transact: SagaRunPorts['transact'] = async (work) => {
    try {
      written.push(await work({ transaction: undefined }));
      return 'saved';
    } finally {
      rolledBack.open();
    }
  };
  const run = runOf(SAGA, graph, book, { ...portsTo(written), transact });
  const ended = run.advance();
  await started.passed;
  run.drain();
  run.interrupt();
  expect(await ended).toMatchObject({ type: 'released' });
  goesOn.open();
  await rolledBack.passed;
  expect(written.map(({ release }) => release !== undefined)).toEqual([true]);
});

describe('a transaction whose commit is not acknowledged is not made again, if it has committed', () => {
  const book = { transactional: true };
  const undoing: SagaState = {
    ...INITIAL,
    status: 'compensating',
    failure: { kind: 'cancelled' },
    steps: new Map([['book', { ...PENDING, status: 'completed', attempts: 1 }]]),
  };
  test.each([
    ['that of a step', book, INITIAL, 'book'],
    ['that of a compensation', book, undoing, 'undo book'],
    [
      'that of a compensation which waits for its reply',
      { ...book, compensationReply: { signal: 'refunded' } },
      undoing,
      'undo book',
    ],
  ])('%s', async (_, options, state, method) => {
    const graph = sequenceOf(stepOf('book', options));
    const written: Checkpoint[] = [];
    const called: string[] = [];
    const ports = portsTo(written);
    let isLost = false;
    const run = runOf({ ...SAGA, state }, graph, (name) => void called.push(name), {
      ...ports,
      transact: async (work) => {
        written.push(await work({ transaction: undefined }));
        if (isLost) return 'saved';
        isLost = true;
        throw Object.assign(new Error('the connection is lost'), { code: '08006' });
      },
      store: {
        ...{ ...CALM, isOutage: () => true, isTransient: () => true },
        edit: async () => ({ ...SAGA, state: written.at(-1)!.state, checkpoints: written.at(-1)!.number }),
      },
    });
    await run.advance();
    expect(called).toEqual([method]);
    expect(written.map(({ number }) => number)).toEqual(written.map((_made, n) => n + 1));
  });
});

test('a transactional step whose lease is not renewed before the process stops is left to the next worker', async () => {
  const graph = sequenceOf(stepOf('book', { transactional: true }));
  const written: Checkpoint[] = [];
  const called: string[] = [];
  const failed = gate();
  let now = 0;
  const ports = {
    ...portsTo(written),
    clock: { ...systemClock, monotonic: () => now },
    transact: async () => {
      // The database is gone, for longer than the lease.
      now += 120_000;
      run.drain();
      failed.open();
      throw Object.assign(new Error('the server is gone'), { code: '57P01' });
    },
    store: { ...CALM, isOutage: () => true, isTransient: () => true },
  };
  const run: SagaRun = runOf(SAGA, graph, (method) => void called.push(method), ports);
  run.leasedAt = 0;
  const ended = run.advance();
  await failed.passed;
  // The attempt looks for the lease once more.
  await new Promise((resolve) => setTimeout(resolve, 300));
  run.abortForShutdown();
  expect(await ended).toEqual({ type: 'released', dueAt: 0 });
  const next = runOf({ ...SAGA, state: written.at(-1)!.state }, graph, (method) => void called.push(method), {
    ...portsTo(written),
    transact: async (work) => (await work({ transaction: undefined })) && 'saved',
  });
  expect(await next.advance()).toEqual({ type: 'settled' });
  expect([called, next.state.status]).toEqual([['book'], 'completed']);
});

test('a run whose checkpoint is fenced off starts nothing more, and does not report the saga as settled', async () => {
  const called: string[] = [];
  const graph = sequenceOf(stepOf('pay'), stepOf('ship'));
  const invoke = (method: string) => void called.push(method);
  const run = runOf(SAGA, graph, invoke, { ...portsTo([]), checkpoint: async () => 'fenced' });
  expect(await run.advance()).toEqual({ type: 'fenced' });
  expect(called).toEqual(['pay']);
});

test('a saga that has lost too many workers is given back, though it is asked to pause or was woken', async () => {
  for (const ask of [(run: SagaRun) => run.pause(), (run: SagaRun) => run.decideAgain()]) {
    const written: Checkpoint[] = [];
    const run = runOf(SAGA, sequenceOf(stepOf('pay')), () => 'paid', portsTo(written));
    run.begin([{ type: 'taken-over', count: 4, bound: 3, now: 0 }]);
    ask(run);
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(written.map(({ state, release }) => [state.status, release !== undefined])).toEqual([
      ['stuck', true],
    ]);
  }
});

test('no step starts that a transaction is about to make unnecessary', async () => {
  const [saving, saved, staged, committed] = [gate(), gate(), gate(), gate()];
  const graph = graphOf(
    stepOf('ask'),
    stepOf('slow', { after: ['ask'] }),
    stepOf('quick', { transactional: true }),
    stepOf('go on', { after: ['slow', 'quick'], join: 'any' }),
  );
  const called: string[] = [];
  const transact: SagaRunPorts['transact'] = async (work) => {
    await work({ transaction: undefined });
    staged.open();
    await committed.passed;
    return 'saved';
  };
  const invoke = async (method: string) => {
    called.push(method);
    if (method === 'quick') await saving.passed;
  };
  const checkpoint = async () => {
    saving.open();
    await saved.passed;
    return 'saved' as const;
  };
  const run = runOf(SAGA, graph, invoke, { ...portsTo([]), transact, checkpoint });
  const ended = run.advance();
  await saving.passed;
  await new Promise((resolve) => setImmediate(resolve));
  // That the first is recorded lets the second be committed, and the third begin.
  saved.open();
  await staged.passed;
  await new Promise((resolve) => setImmediate(resolve));
  committed.open();
  await ended;
  expect(called).toEqual(['ask', 'quick', 'go on', 'undo ask']);
});

test('a checkpoint that may have arrived but cannot be sent again at shutdown is left to the next worker', async () => {
  let tries = 0;
  const checkpoint = async (): Promise<never> => {
    tries += 1;
    throw new SagaUnavailableError('It is unknown whether the write was committed.');
  };
  const run = runOf(SAGA, sequenceOf(stepOf('book')), () => 'booked', { ...portsTo([]), checkpoint });
  expect(await run.advance()).toEqual({ type: 'fenced' });
  expect(tries).toBe(1);
});

describe('the outcome of a sub-saga', () => {
  it('is stored before any step that follows starts, so that the next worker can see which steps may have started', async () => {
    const subSaga = stepOf('ship', { kind: 'sub-saga', compensate: undefined });
    const graph = sequenceOf(subSaga, stepOf('bill'));
    const child = { id: '01920000-0000-7000-8000-000000000002', phase: 'running' } as const;
    const waiting = { ...PENDING, status: 'waiting', attempts: 1, child } as const;
    const state = { ...INITIAL, steps: new Map([['ship', waiting]]) };
    const ended = { ...SAGA, id: child.id, state: { ...INITIAL, status: 'completed' } } as const;
    const written: Checkpoint[] = [];
    let storedBefore: unknown;
    const bill = () => (storedBefore = written.at(-1)?.state.steps.get('ship')?.status);
    const store = { ...CALM, ended: async () => [ended] };
    const run = runOf({ ...SAGA, state }, graph, bill, { ...portsTo(written), store });
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
    expect(storedBefore).toBe('completed');
  });
});

test('a step starts once what it waited for is recorded, whenever its delay is over', async () => {
  const graph = sequenceOf(stepOf('first'), stepOf('next', { delay: 10 }));
  const early: string[] = [];
  // The delay of 10 ms is over between any two looks at the clock.
  for (let pace = 1; pace <= 20; pace += 1) {
    let [now, recorded] = [0, 'nothing'];
    const invoke = (method: string) => {
      if (method === 'next' && recorded !== 'completed')
        early.push(`at a pace of ${pace} ms: first is recorded as ${recorded}`);
    };
    const run = runOf(SAGA, graph, invoke, {
      attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => now, log }),
      checkpoint: async ({ state }) => {
        recorded = state.steps.get('first')?.status ?? 'nothing';
        return 'saved';
      },
      transact: async () => 'saved',
      store: CALM,
      reserve: async () => ({ times: [], now: 0 }),
      takeSlots: async (_limit, _holder, steps) => steps,
      freeSlots: async () => true,
      now: () => (now += pace),
      maxPayloadBytes: 1_000,
      asked: async () => undefined,
      pendingSignals: async () => [],
      newId: () => randomUUID(),
      ...CHANCE,
      log,
    });
    await run.advance();
    expect(recorded).toBe('completed');
  }
  expect(early).toEqual([]);
});

test('a delay is recorded before it ends, so that the next worker can see that the step may have started', async () => {
  const graph = graphOf(stepOf('other'), stepOf('delayed', { delay: 5 }));
  const started = gate();
  let recorded: string | undefined;
  let known: string | undefined;
  const invoke = async (method: string) => {
    if (method === 'other') return started.passed;
    known = recorded;
    started.open();
  };
  const run = runOf(SAGA, graph, invoke, {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: Date.now, log }),
    checkpoint: async ({ state }) => {
      recorded = state.steps.get('delayed')?.status;
      return 'saved';
    },
    transact: async () => 'saved',
    store: CALM,
    reserve: async () => ({ times: [], now: 0 }),
    takeSlots: async (_limit, _holder, steps) => steps,
    freeSlots: async () => true,
    now: Date.now,
    maxPayloadBytes: 1_000,
    asked: async () => undefined,
    pendingSignals: async () => [],
    newId: () => randomUUID(),
    ...CHANCE,
    log,
  });
  expect(await run.advance()).toEqual({ type: 'settled' });
  expect(run.state.status).toBe('completed');
  expect(known).toBe('waiting');
});

test('a step beside an at-most-once step does not wait until the start of that is recorded', async () => {
  const graph = graphOf(stepOf('book', { after: [], idempotent: false }), stepOf('ask', { after: [] }));
  const calls: string[] = [];
  const run = runOf(SAGA, graph, (method) => void calls.push(method), {
    ...portsTo([]),
    checkpoint: async ({ state }) => {
      calls.push(`book is ${state.steps.get('book')?.status}`);
      return 'saved';
    },
  });
  expect(await run.advance()).toEqual({ type: 'settled' });
  expect(calls.slice(0, 3)).toEqual(['ask', 'book is running', 'book']);
});

test('an at-most-once step whose start is recorded too late to begin is left to the next worker, which runs it', async () => {
  const graph = sequenceOf(stepOf('book', { idempotent: false }));
  const written: Checkpoint[] = [];
  const called: string[] = [];
  let now = 0;
  const ports = portsTo(written);
  const run = runOf(SAGA, graph, (method) => void called.push(method), {
    ...ports,
    clock: { ...systemClock, monotonic: () => now },
    checkpoint: (checkpoint) => {
      // The process was suspended meanwhile, and is to stop.
      now += 120_000;
      run.drain();
      return ports.checkpoint(checkpoint);
    },
  });
  run.leasedAt = 0;
  expect(await run.advance()).toMatchObject({ type: 'released', dueAt: 0 });
  expect(written.map(({ state }) => state.steps.get('book')?.status)).toEqual(['running', 'waiting']);
  const next = runOf(
    { ...SAGA, state: written.at(-1)!.state },
    graph,
    (method) => void called.push(method),
    ports,
  );
  expect(await next.advance()).toEqual({ type: 'settled' });
  expect([called, next.state.status]).toEqual([['book'], 'completed']);
});

test('a cancellation that is found while the start of an at-most-once step is recorded takes effect immediately', async () => {
  const graph = sequenceOf(stepOf('book', { idempotent: false }));
  const called: string[] = [];
  const run = runOf(SAGA, graph, (method) => void called.push(method), {
    attempts: new AttemptRunner({ ...CHANCE, maxPayloadBytes: 1_000, now: () => 0, log }),
    checkpoint: async ({ cancelSeen }) => (cancelSeen ? 'saved' : 'cancelled'),
    transact: async () => 'saved',
    store: CALM,
    reserve: async () => ({ times: [], now: 0 }),
    takeSlots: async (_limit, _holder, steps) => steps,
    freeSlots: async () => true,
    now: () => 0,
    maxPayloadBytes: 1_000,
    asked: async () => ({ cancelRequested: { reason: 'manual' } }),
    pendingSignals: async () => [],
    newId: () => randomUUID(),
    ...CHANCE,
    log,
  });
  expect(await run.advance()).toEqual({ type: 'settled' });
  expect(run.state.status).toBe('compensated');
  expect(called).toEqual([]);
});

test('what a step reports until its saga is given back, because an older attempt broke off, is stored before', async () => {
  const graph = graphOf(
    ...[stepOf('slow', { after: [] }), stepOf('first', { after: [] })],
    ...[stepOf('beats', { after: ['first'] }), stepOf('quick', { after: ['first'] })],
  );
  const [breaksOff, ends, beats, saving, saved] = [gate(), gate(), gate(), gate(), gate()];
  const events: string[] = [];
  const invoke = async (method: string, given: object) => {
    if (method === 'slow') throw await breaksOff.passed.then(() => new Error('aborted'));
    if (method === 'first') await ends.passed;
    if (method !== 'beats') return;
    await beats.passed;
    await (given as StepContext).heartbeat('last');
    await gate().passed;
  };
  const run: SagaRun = runOf(SAGA, graph, invoke, {
    ...portsTo([]),
    checkpoint: async ({ state, release }) => {
      if (release) events.push('given back');
      else if (state.steps.get('quick')?.status === 'completed') {
        saving.open();
        await saved.passed;
      }
      return 'saved';
    },
    renew: async ({ reported }) => {
      events.push(`stored ${reported?.take()}`);
      reported?.stored();
    },
  });
  const ended = run.advance();
  run.leaseExpired();
  ends.open();
  await saving.passed;
  breaksOff.open();
  await new Promise(setImmediate);
  beats.open();
  await new Promise(setImmediate);
  saved.open();
  expect(await ended).toMatchObject({ type: 'released' });
  expect(events).toEqual([expect.stringContaining('"details":"last"'), 'given back']);
});

describe('a run whose lease may have run out', () => {
  const graph = sequenceOf(stepOf('book'));
  const old = systemClock.monotonic() - 120_000;

  test('starts nothing once another has taken over', async () => {
    const called: string[] = [];
    const ports = { ...portsTo([]), renew: async (run: LeasedRun) => run.fence() };
    const run = new SagaRun(SAGA, graph, (method) => void called.push(method), ports, old);
    expect(await run.advance()).toEqual({ type: 'fenced' });
    expect(called).toEqual([]);
  });

  test('starts no transactional step again whose transaction took too long to start', async () => {
    const called: string[] = [];
    const transact: SagaRunPorts['transact'] = async (work) => {
      run.leasedAt = old;
      await work({ transaction: undefined });
      return 'saved';
    };
    const run: SagaRun = runOf(
      SAGA,
      sequenceOf(stepOf('book', { transactional: true })),
      (method) => void called.push(method),
      {
        ...portsTo([]),
        transact,
        renew: async () => {
          run.leasedAt = systemClock.monotonic();
          run.fence();
        },
      },
    );
    expect(await run.advance()).toEqual({ type: 'fenced' });
    expect(called).toEqual([]);
  });

  test('starts the next step once it has extended it', async () => {
    let renewals = 0;
    const renew = async (run: LeasedRun) => {
      // The first answer is lost.
      if ((renewals += 1) > 1) run.leasedAt = systemClock.monotonic();
    };
    const run = new SagaRun(SAGA, graph, () => renewals, { ...portsTo([]), renew }, old);
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(run.state.status).toBe('completed');
    expect(run.state.steps.get('book')?.result).toBe('2');
  });

  test('does not start an at-most-once step whose start took too long to record', async () => {
    const called: string[] = [];
    const ports = portsTo([]);
    const run: SagaRun = new SagaRun(
      SAGA,
      sequenceOf(stepOf('book', { idempotent: false })),
      (method) => void called.push(method),
      {
        ...ports,
        checkpoint: async () => {
          run.leasedAt = old;
          return 'saved';
        },
        renew: async () => run.fence(),
      },
      systemClock.monotonic(),
    );
    expect(await run.advance()).toEqual({ type: 'fenced' });
    expect(called).toEqual([]);
  });
});

test('a rate limit whose answers come too late is asked for later permits', async () => {
  const graph = sequenceOf(stepOf('book', { rateLimit: { count: 1, per: 500 } }));
  let now = 1_000;
  const aheads: (number | undefined)[] = [];
  const clock = { ...systemClock, monotonic: () => now, after: systemClock.after };
  const run = new SagaRun(
    SAGA,
    graph,
    () => 'booked',
    {
      ...portsTo([]),
      permits: { lead: 0 },
      clock: { ...clock, after: (delay, call) => ((now += delay), systemClock.after(0, call)) },
      now: () => now,
      reserve: async ({ ahead = 0 }) => {
        aheads.push(ahead);
        const asked = now;
        now += 300;
        return { times: [asked + 150 + ahead], now: asked + 150 };
      },
    },
    now,
  );
  expect(await run.advance()).toEqual({ type: 'settled' });
  expect(run.state.status).toBe('completed');
  expect(aheads).toEqual([0, 600]);
});

test('a transactional step that is cancelled while its transaction begins is not called', async () => {
  const written: Checkpoint[] = [];
  const calls: string[] = [];
  const [asked, opens] = [gate(), gate()];
  const graph = sequenceOf(stepOf('book', { transactional: true }));
  const transact: SagaRunPorts['transact'] = async (work) => {
    asked.open();
    await opens.passed;
    written.push(await work({ transaction: undefined }));
    return 'saved';
  };
  const run = runOf(SAGA, graph, async (method) => void calls.push(method), {
    ...portsTo(written),
    transact,
  });
  const ended = run.advance();
  await asked.passed;
  run.cancel('not wanted any more');
  opens.open();
  await ended;
  expect(calls).toEqual([]);
  expect(written.at(-1)!.state.status).toBe('compensated');
});
