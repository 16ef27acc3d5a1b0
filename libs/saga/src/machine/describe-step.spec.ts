import { sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';
import { describeStep } from './describe-step.js';

const GRAPH = sequenceOf(stepOf('a'), stepOf('b'));
const NOTHING = { actions: [] };

describe('the current step of a saga', () => {
  it.each([
    ['stuck going forward: the step that failed permanently', 'running', 'b'],
    ['stuck in compensation: the step that could not be compensated', 'compensating', 'a'],
  ] as const)('%s', (_, heldPhase, step) => {
    const steps = heldPhase === 'running' ? 'a=completed b=failed' : 'a=compensation_failed b=failed';
    const state = { ...stateOf('stuck', steps), heldPhase };
    expect(describeStep(GRAPH, state, NOTHING)).toBe(step);
  });
});
