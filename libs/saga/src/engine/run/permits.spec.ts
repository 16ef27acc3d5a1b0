import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState, stepState } from '../../machine/saga-state.js';
import { permitSlack } from '../../machine/turn.js';
import { decide } from '../../machine/decide.js';
import { evolve } from '../../machine/evolve.js';
import { systemClock } from '../../shared/clock.js';
import type { RateRequest } from '../ports/saga-store.js';
import { needsPermit, RunPermits } from './run-permits.js';

const PER = 1_000;
const node = graphOf(stepOf('call', { rateLimit: { count: 1, per: PER } })).steps.get('call')!;
const call = { kind: 'run', node, key: 'call' } as const;
const permittedAt = (permit?: number): SagaState => ({
  ...INITIAL,
  steps: new Map([['call', { ...PENDING, permit }]]),
});

describe('a time that a rate limit gave', () => {
  it('is asked for before the attempt', () => {
    expect(needsPermit(call, permittedAt(), 0)).toBe(true);
  });

  it('is good for a little while, and asked for again after that', () => {
    const last = 5_000 + permitSlack(PER);
    expect(needsPermit(call, permittedAt(5_000), last)).toBe(false);
    expect(needsPermit(call, permittedAt(5_000), last + 1)).toBe(true);
  });

  it('of a long window is good for a hundredth of it, half a minute at most', () => {
    expect(permitSlack(600_000)).toBe(6_000);
    expect(permitSlack(86_400_000)).toBe(30_000);
  });

  it('is given back if it was let pass, as the store knows it, and not by a worker that may have begun', async () => {
    const asked: RateRequest[] = [];
    let storeNow = 1_000;
    const ports = {
      reserve: (limit: RateRequest) => {
        asked.push(limit);
        return Promise.resolve({ times: [storeNow], now: storeNow });
      },
      // This process is half a second behind the store.
      ...{ permits: { lead: 0 }, now: () => storeNow - 500, clock: systemClock },
    };
    const graph = graphOf(stepOf('call', { rateLimit: { count: 1, per: PER } }));
    const permits = new RunPermits(graph, 'a', ports, () => ({ input: {} }) as never);
    let state = INITIAL;
    const ask = async () => {
      const events = await permits.ask([{ ...call, node: graph.steps.get('call')! }], state);
      state = events.reduce((before, event) => evolve(graph, before, event), state);
    };
    await ask();
    expect(stepState(state, 'call').permit).toBe(500);
    storeNow = 7_000;
    await ask();
    state = evolve(graph, state, { type: 'taken-over', count: 1, bound: 3, now: 9_000 });
    await ask();
    expect(asked.map(({ unused }) => unused)).toEqual([[], [1_000], []]);
  });

  it('is none of what has no limit, and of what is undone', () => {
    expect(needsPermit({ ...call, node: { ...node, rateLimit: undefined } }, permittedAt(), 0)).toBe(false);
    expect(needsPermit({ ...call, kind: 'compensate' }, permittedAt(), 0)).toBe(false);
  });
});

describe('the rate limit of a saga that has no key for it', () => {
  const noKey = () => {
    throw new Error('no tenant');
  };
  const step = stepOf('call', { optional: true });
  const graph = { ...graphOf(step, stepOf('after')), rateLimit: { count: 1, per: PER, key: noKey } };

  it.each([
    ['that was not asked before', undefined],
    ['whose worker was lost before it began', { at: 0 }],
  ])('fails the first step of a saga %s, which then goes on without the limit', async (_, turn) => {
    const ports = {
      ...{ reserve: () => Promise.reject(new Error('is not asked')), permits: { lead: 0 } },
      ...{ now: () => 9_000, clock: systemClock },
    };
    const permits = new RunPermits(graph, 'a', ports, () => ({ input: {} }) as never);
    const before: SagaState = { ...INITIAL, turn };
    const [first] = decide(graph, before, 9_000).actions;
    const events = await permits.askTurn(first!, before);
    const state = events.reduce((now, event) => evolve(graph, now, event), before);
    expect(state.steps.get('call')).toMatchObject({ status: 'failed', errors: [{ message: 'no tenant' }] });
    expect(decide(graph, state, 9_000).actions.map(({ kind }) => kind)).toEqual(['run']);
  });
});
