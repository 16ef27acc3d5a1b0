import { graphOf, sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';
import { resolveRetryPolicy } from '../definition/options/retry-policy.js';
import { decide } from './decide.js';
import { describeStep } from './describe-step.js';
import { holdPaused } from './hold-paused.js';
import type { MachineDecision } from './plan.js';

const PAUSED = new Set(['charge']);
const shown = ({ actions, held = [], wakeAt, settle }: MachineDecision) => ({
  actions: actions.map(({ kind, key }) => `${kind} ${key}`),
  held: held.map(({ kind, key }) => `${kind} ${key}`),
  ...{ wakeAt, settle },
});

describe('while a step is paused', () => {
  const graph = graphOf(
    stepOf('reserve', { after: [], compensate: 'release' }),
    stepOf('charge', {
      after: ['reserve'],
      compensate: 'refund',
      retry: resolveRetryPolicy({ attempts: 3 }),
    }),
    stepOf('pack', { after: ['reserve'] }),
  );
  const held = (state: string, status = 'running' as const, now = 0) =>
    shown(holdPaused(graph, decide(graph, stateOf(status, state), now), PAUSED));

  test('it does not begin, other branches do, and the saga shows where it stands', () => {
    expect(held('reserve=completed')).toMatchObject({ actions: ['run pack'], held: ['run charge'] });
    const state = stateOf('running', 'reserve=completed pack=completed');
    const next = holdPaused(graph, decide(graph, state, 0), PAUSED);
    expect(shown(next)).toEqual({ actions: [], held: ['run charge'], wakeAt: undefined, settle: undefined });
    expect(describeStep(graph, state, next)).toBe('charge');
  });

  test('the deadline of the saga stays', () => {
    const state = { ...stateOf('running', 'reserve=completed pack=completed'), deadline: 500 };
    expect(shown(holdPaused(graph, decide(graph, state, 0), PAUSED)).wakeAt).toBe(500);
    const { events } = holdPaused(graph, decide(graph, state, 500), PAUSED);
    expect(events).toMatchObject([{ type: 'expired' }]);
  });

  test('its compensation goes on', () => {
    const state = stateOf('compensating', 'reserve=completed charge=completed');
    expect(shown(holdPaused(graph, decide(graph, state, 0), PAUSED)).actions).toEqual(['compensate charge']);
  });

  test('a decision in which nothing of it begins is the same object', () => {
    const decision = decide(graph, stateOf('running', ''), 0);
    expect(holdPaused(graph, decision, PAUSED)).toBe(decision);
  });

  test.each([
    ['the items of a fan-out', { forEach: () => [] }, 'expand charge'],
    ['the probe of an attempt that was lost', { idempotent: false, probe: 'ask' }, 'probe charge'],
  ])('%s is held', (_, options, what) => {
    const own = sequenceOf(stepOf('charge', options));
    const lost = stateOf('running', 'charge=running');
    const steps = new Map([['charge', { ...lost.steps.get('charge')!, attempts: 1 }]]);
    const state = what.startsWith('probe') ? { ...lost, steps } : stateOf('running', '');
    expect(shown(holdPaused(own, decide(own, state, 0), PAUSED))).toMatchObject({
      actions: [],
      held: [what],
    });
  });

  test('a saga that can begin nothing takes no time from its rate limit', () => {
    const limited = { ...sequenceOf(stepOf('charge'), stepOf('ship')), rateLimit: { count: 1, per: 1_000 } };
    const decision = decide(limited, stateOf('running', ''), 0);
    expect(shown(decision).actions).toEqual(['begin charge']);
    expect(shown(holdPaused(limited, decision, PAUSED)).actions).toEqual([]);
    expect(shown(holdPaused(limited, decision, new Set(['ship']))).actions).toEqual(['begin charge']);
  });
});
