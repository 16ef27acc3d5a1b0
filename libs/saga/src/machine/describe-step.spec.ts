import { stateOf } from '../../../../test/fixtures/state-of.js';
import { describeStep } from './describe-step.js';

const NOTHING = { actions: [] };

describe('where a saga stands', () => {
  it.each([
    ['stuck in going forward: at the step that gave up', 'running', 'b'],
    ['stuck in turning back: at what could not be compensated', 'compensating', 'a'],
  ] as const)('%s', (_, heldPhase, step) => {
    const steps = heldPhase === 'running' ? 'a=completed b=failed' : 'a=compensation_failed b=failed';
    const state = { ...stateOf('stuck', steps), heldPhase };
    expect(describeStep(state, NOTHING)).toBe(step);
  });
});
