import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { INITIAL, PENDING, type SagaState } from '../../machine/saga-state.js';
import { needsPermit, permitSlack } from './permit-lead.js';

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

  it('is none of what has no limit, and of what is undone', () => {
    expect(needsPermit({ ...call, node: { ...node, rateLimit: undefined } }, permittedAt(), 0)).toBe(false);
    expect(needsPermit({ ...call, kind: 'compensate' }, permittedAt(), 0)).toBe(false);
  });
});
