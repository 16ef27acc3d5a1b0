import { decide } from './decide.js';
import { evolve } from './evolve.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';

/** Goes through a saga by what is decided, and keeps what was done and undone, in order. */
class Walk {
  readonly trace: string[] = [];
  state: SagaState = INITIAL;

  constructor(readonly graph: SagaGraph) {}

  /**
   * Carries out every decision until none is left. Some steps fail the first time, others start first and
   * stay in progress.
   */
  go(but: { failing?: string[]; leaving?: string[] } = {}): this {
    const failing = new Set(but.failing);
    const leaving = new Set(but.leaving);
    for (let decision = this.decide(); ; decision = this.decide()) {
      const { actions, settle } = decision;
      if (settle === 'resumed') this.apply({ type: 'resumed' });
      else if (settle) return this.apply({ type: 'settled', status: settle });
      const action = actions.find(({ key }) => leaving.has(key)) ?? actions[0];
      if (settle === undefined && !action) return this;
      if (!action) continue;
      const { key, kind, node } = action;
      const { round } = stepState(this.state, node.name);
      if (kind === 'compensate') {
        this.apply(
          { type: 'compensation-started', step: key },
          { type: 'compensation-completed', step: key },
        );
        this.trace.push(`undo ${key}`);
      } else if (node.when?.({ round } as never) === false) {
        this.apply({ type: 'condition-false', step: key });
      } else {
        this.apply({ type: 'step-started', step: key });
        if (failing.delete(key)) this.fail(key);
        else if (!leaving.has(key)) this.complete(key);
      }
    }
  }

  complete(step: string): this {
    this.trace.push(step);
    return this.apply({ type: 'step-completed', step, result: `"${step}"`, now: 0 });
  }

  fail(step: string, { retryable = false } = {}): this {
    const failure = { error: { name: 'Error', message: 'no' }, retryable, now: 0, random: 0 };
    const kind = retryable ? 'error' : 'rejected';
    return this.apply({ type: 'step-failed', kind, unknown: false, step, ...failure });
  }

  private decide() {
    return decide(this.graph, this.state, 0);
  }

  private apply(...events: SagaEvent[]): this {
    for (const event of events) this.state = evolve(this.graph, this.state, event);
    return this;
  }
}

const no = () => false;
const yes = () => true;

describe('a condition in a forked branch before a join', () => {
  const graph = (when: () => boolean) =>
    graphOf(
      stepOf('order'),
      stepOf('gift-wrap', { after: ['order'], when }),
      stepOf('pack', { after: ['order'] }),
      stepOf('ship', { after: ['gift-wrap', 'pack'] }),
    );

  it('that says no lets the join go on with the other branch', () => {
    const walk = new Walk(graph(no)).go();
    expect(walk.trace).toEqual(['order', 'pack', 'ship']);
    expect(walk.state.status).toBe('completed');
    expect(stepState(walk.state, 'gift-wrap').status).toBe('skipped');
  });

  it('that says yes makes the join wait for both', () => {
    const walk = new Walk(graph(yes)).go({ leaving: ['gift-wrap'] });
    expect(walk.trace).toEqual(['order', 'pack']);
    expect(walk.complete('gift-wrap').go().trace.at(-1)).toBe('ship');
  });

  it('that is false is not compensated, and delays no step that is', () => {
    const walk = new Walk(graph(no)).go({ failing: ['ship'] });
    expect(walk.trace).toEqual(['order', 'pack', 'undo pack', 'undo order']);
    expect(walk.state.status).toBe('compensated');
  });

  it('that says no does not win a join any', () => {
    const any = graphOf(
      stepOf('fast', { when: no }),
      stepOf('slow'),
      stepOf('ship', { after: ['fast', 'slow'], join: 'any' }),
    );
    const walk = new Walk(any).go({ leaving: ['slow'] });
    expect(walk.trace).toEqual([]);
    expect(walk.complete('slow').go().trace).toEqual(['slow', 'ship']);
    expect(walk.state.status).toBe('completed');
  });

  it('that say no in every branch of a join any let it go on', () => {
    const any = graphOf(
      stepOf('a', { when: no }),
      stepOf('b', { when: no }),
      stepOf('ship', { after: ['a', 'b'], join: 'any' }),
    );
    expect(new Walk(any).go().trace).toEqual(['ship']);
  });
});

describe('nested fork rollback', () => {
  const graph = graphOf(
    stepOf('start'),
    stepOf('left', { after: ['start'] }),
    stepOf('left-1', { after: ['left'] }),
    stepOf('left-2', { after: ['left'] }),
    stepOf('left-join', { after: ['left-1', 'left-2'] }),
    stepOf('right', { after: ['start'] }),
    stepOf('join', { after: ['left-join', 'right'] }),
  );

  it('compensates the inner fork before the outer, each step after all that depends on it, and once', () => {
    const { trace, state } = new Walk(graph).go({ failing: ['join'] });
    const undone = trace.filter((entry) => entry.startsWith('undo')).map((entry) => entry.slice(5));
    expect([...undone].sort()).toEqual(['left', 'left-1', 'left-2', 'left-join', 'right', 'start']);
    const at = (name: string) => undone.indexOf(name);
    for (const node of graph.steps.values()) {
      if (node.name === 'join') continue;
      for (const name of node.dependents) {
        if (name !== 'join') expect([name, at(name) < at(node.name)]).toEqual([name, true]);
      }
    }
    expect(state.status).toBe('compensated');
  });

  it('compensates one inner branch while the other is still running, and the fork only after both', () => {
    const walk = new Walk(graph).go({ failing: ['left-1'], leaving: ['left-2'] });
    expect(walk.trace).not.toContain('undo left');
    walk.complete('left-2').go();
    const undone = walk.trace.filter((entry) => entry.startsWith('undo'));
    expect(undone).toEqual(['undo left-2', 'undo left', 'undo start']);
  });
});

describe('a sibling that completes after the rollback started', () => {
  const graph = graphOf(stepOf('a'), stepOf('b', { after: ['a'] }), stepOf('c', { after: ['a'] }));

  it('is undone like the rest, before what it depends on', () => {
    const walk = new Walk(graph).go({ failing: ['c'], leaving: ['b'] });
    expect(walk.state.status).toBe('compensating');
    expect(walk.trace).toEqual(['a']);
    expect(walk.complete('b').go().trace).toEqual(['a', 'b', 'undo b', 'undo a']);
    expect(walk.state.status).toBe('compensated');
  });

  it('that fails then is not undone, and changes nothing', () => {
    const walk = new Walk(graph).go({ failing: ['c'], leaving: ['b'] });
    const { failure } = walk.state;
    expect(walk.fail('b').go().trace).toEqual(['a', 'undo a']);
    expect(walk.state).toMatchObject({ status: 'compensated', failure });
  });

  it('outside the part that rolls back to a savepoint keeps its result', () => {
    const beside = graphOf(
      stepOf('pay', { savepoint: { attempts: 2 } }),
      stepOf('ship', { after: ['pay'] }),
      stepOf('invoice'),
    );
    const walk = new Walk(beside).go({ failing: ['ship'], leaving: ['invoice'] });
    expect(walk.complete('invoice').go().trace).toEqual(['pay', 'ship', 'invoice']);
    expect(walk.state).toMatchObject({ status: 'completed', round: 2 });
    expect(stepState(walk.state, 'invoice').round).toBe(1);
    expect(walk.trace.filter((entry) => entry.startsWith('undo'))).toEqual([]);
  });
});

describe('carrier A fails, back to the savepoint, carrier B', () => {
  const graph = graphOf(
    stepOf('pay', { savepoint: { attempts: 2 } }),
    stepOf('label', { after: ['pay'] }),
    stepOf('carrier-a', { after: ['label'], when: ({ round }) => round === 1 }),
    stepOf('carrier-b', { after: ['label'], when: ({ round }) => round === 2 }),
    stepOf('notify', { after: ['carrier-a', 'carrier-b'] }),
  );

  it('completed, payment never undone', () => {
    const { trace, state } = new Walk(graph).go({ failing: ['carrier-a'] });
    expect(trace).toEqual(['pay', 'label', 'undo label', 'label', 'carrier-b', 'notify']);
    expect(state).toMatchObject({ status: 'completed', round: 2, failure: undefined });
    expect(stepState(state, 'pay')).toMatchObject({ status: 'completed', round: 1, returns: 1 });
    expect(stepState(state, 'label')).toMatchObject({ round: 2, attempts: 1 });
    expect(stepState(state, 'carrier-a').status).toBe('skipped');
  });

  it('fails as well: everything is undone, each round once', () => {
    const { trace, state } = new Walk(graph).go({ failing: ['carrier-a', 'carrier-b'] });
    expect(trace).toEqual(['pay', 'label', 'undo label', 'label', 'undo label', 'undo pay']);
    expect(state).toMatchObject({ status: 'compensated', failure: { step: 'carrier-b' } });
  });
});

describe('a join any', () => {
  const race = (...more: Parameters<typeof graphOf>) =>
    graphOf(
      stepOf('fast'),
      stepOf('slow'),
      stepOf('ship', { after: ['fast', 'slow'], join: 'any' }),
      ...more,
    );

  it('compensates exactly the branch that lost, though it completes late', () => {
    const walk = new Walk(race()).go({ leaving: ['slow'] });
    expect(walk.trace).toEqual(['fast', 'ship']);
    expect(walk.state.status).toBe('running');
    expect(walk.complete('slow').go().trace).toEqual(['fast', 'ship', 'slow', 'undo slow']);
    expect(walk.state.status).toBe('completed');
  });

  it.each([
    [true, ['fast', 'undo slow', 'ship']],
    [false, ['fast', 'ship']],
  ])(
    'compensates a branch that lost while it waited for its next attempt, if failures are (%s)',
    (compensateOnFailure, trace) => {
      const graph = race(stepOf('slow', { compensateOnFailure }));
      const walk = new Walk(graph).go({ leaving: ['fast', 'slow'] });
      walk.fail('slow', { retryable: true }).complete('fast').go();
      expect(walk.trace.toSorted()).toEqual(trace.toSorted());
      expect(walk.state.status).toBe('completed');
    },
  );

  it('goes on with one branch when the other fails', () => {
    const walk = new Walk(race()).go({ failing: ['fast'] });
    expect(walk.trace).toEqual(['slow', 'ship']);
    expect(walk.state.status).toBe('completed');
  });

  it('turns the saga back when both fail', () => {
    expect(new Walk(race()).go({ failing: ['fast', 'slow'] }).state.status).toBe('compensated');
  });

  it('that fails itself, with nothing behind it, turns the saga back', () => {
    const walk = new Walk(race()).go({ failing: ['ship'] });
    expect(walk.trace).toEqual(['fast', 'undo fast']);
    expect(walk.state.status).toBe('compensated');
  });

  it('before a savepoint that is rolled back to keeps its winner, if the winner is still completed', () => {
    const graph = graphOf(
      stepOf('pay', { pivot: true }),
      stepOf('credit', { savepoint: { attempts: 2 } }),
      stepOf('ship', { after: ['credit', 'pay'], join: 'any' }),
      stepOf('report', { after: ['credit'], when: ({ round }) => round === 1 }),
    );
    const walk = new Walk(graph).go({ failing: ['report'] });
    expect(walk.trace).not.toContain('undo pay');
    expect(walk.state.status).toBe('completed');
  });

  it('is not won by a step that is about to be undone', () => {
    const graph = graphOf(
      stepOf('open', { savepoint: { attempts: 2 } }),
      stepOf('inside', { after: ['open'] }),
      stepOf('check', { after: ['open'], when: ({ round }) => round === 1 }),
      stepOf('outside'),
      stepOf('outside-2', { after: ['outside'] }),
      stepOf('ship', { after: ['inside', 'outside-2'], join: 'any' }),
    );
    const walk = new Walk(graph).go({ failing: ['check'], leaving: ['inside', 'outside'] });
    expect(walk.complete('inside').state.rollbackTo).toBe('open');
    expect(stepState(walk.state, 'outside-2')).toMatchObject({ pruned: false, status: 'pending' });
  });
});

describe('a worker lost before the deadline, and found after it', () => {
  it('leaves nothing that it may have done', () => {
    const graph = graphOf(stepOf('pay'));
    const lost = evolve(
      graph,
      { ...INITIAL, deadline: 100 },
      { type: 'taken-over', count: 1, bound: 3, now: 200 },
    );
    const late = evolve(graph, lost, { type: 'expired', now: 200 });
    expect(decide(graph, late, 200).actions.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'compensate pay',
    ]);
  });
});

test('what is lost with a worker fails in the order of the graph, whatever the order of its rows', () => {
  const once = { idempotent: false } as const;
  const graph = graphOf(stepOf('a', once), stepOf('b', once));
  const bothStarted = ['a', 'b'].reduce(
    (state, step) => evolve(graph, state, { type: 'step-started', step }),
    INITIAL,
  );
  const rows = [...bothStarted.steps].map(([key, step]) => [key, { ...step, active: false }] as const);
  for (const order of [rows, rows.toReversed()]) {
    const lost = { type: 'taken-over', count: 1, bound: 3, now: 0 } as const;
    const { status, failure } = evolve(graph, { ...bothStarted, steps: new Map(order) }, lost);
    expect({ status, step: failure?.step }).toEqual({ status: 'compensating', step: 'a' });
  }
});

describe('an operator who tries again a saga that lost too many workers', () => {
  it('leaves the items of a branch that lost to be undone', () => {
    const graph = graphOf(
      stepOf('parcels', { forEach: () => ['1'], idempotent: false }),
      stepOf('courier'),
      stepOf('done', { after: ['parcels', 'courier'], join: 'any' }),
    );
    const events: SagaEvent[] = [
      { type: 'fan-out-started', step: 'parcels', items: ['1'] },
      { type: 'step-started', step: 'parcels[0]' },
      { type: 'taken-over', count: 4, bound: 3, now: 0 },
      { type: 'retried' },
    ];
    const state = events.reduce<SagaState>((before, event) => evolve(graph, before, event), INITIAL);
    expect(stepState(state, 'parcels').pruned).toBe(true);
    expect(decide(graph, state, 0).actions.map(({ kind, key }) => `${kind} ${key}`)).toEqual([
      'run courier',
      'compensate parcels[0]',
    ]);
  });
});

test('a join any that is being gone back behind is not won before it is gone through again', () => {
  const graph = graphOf(
    stepOf('save', { savepoint: { attempts: 2 } }),
    stepOf('beside'),
    stepOf('needed'),
    stepOf('fails', { after: ['save'] }),
    stepOf('follows', { after: ['fails', 'needed'] }),
    stepOf('either', { after: ['follows', 'beside'], join: 'any' }),
    stepOf('last', { after: ['save', 'either', 'fails'] }),
  );
  const failed = {
    type: 'step-failed',
    step: 'fails',
    kind: 'timeout',
    unknown: true,
    retryable: false,
    error: { name: 'Error', message: 'late' },
    now: 0,
    random: 0,
  } as const;
  const events: SagaEvent[] = [
    ...['save', 'needed'].flatMap((step): SagaEvent[] => [
      { type: 'step-started', step },
      { type: 'step-completed', step },
    ]),
    { type: 'step-started', step: 'beside' },
    { type: 'step-started', step: 'fails' },
    failed,
    { type: 'step-completed', step: 'beside' },
  ];
  const back = events.reduce((before, event) => evolve(graph, before, event), INITIAL);
  expect(back).toMatchObject({ status: 'compensating', rollbackTo: 'save' });
  const actions = (state: SagaState) =>
    decide(graph, state, 0).actions.map(({ kind, key }) => `${kind} ${key}`);
  expect(actions(back)).toEqual(['compensate fails']);
  const again = (
    [
      { type: 'compensation-started', step: 'fails' },
      { type: 'compensation-completed', step: 'fails' },
      { type: 'resumed' },
    ] as const
  ).reduce<SagaState>((before, event) => evolve(graph, before, event), back);
  expect(actions(again).toSorted()).toEqual(['compensate needed', 'run either', 'run fails']);
});
