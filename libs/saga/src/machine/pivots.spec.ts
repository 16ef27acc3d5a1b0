import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, sequenceOf, stepOf } from './graph-of.contract.js';
import type { SagaEvent } from './saga-event.js';
import { stateOf } from './state-of.contract.js';

const pay = stepOf('pay', { pivot: true, compensate: undefined });
const line = sequenceOf(stepOf('book'), pay, stepOf('ship'));
const fork = graphOf(
  stepOf('book'),
  { ...pay, after: ['book'] },
  stepOf('pack', { after: ['book'] }),
  stepOf('ship', { after: ['pay', 'pack'] }),
);

describe('behind its point of no return', () => {
  const passed = stateOf('running', 'book=completed pay=completed');

  it('a saga is not turned back by a cancellation', () => {
    expect(evolve(line, passed, { type: 'cancelled' })).toBe(passed);
  });

  it('it is by one that was accepted before, and then a person decides', () => {
    const back = evolve(line, passed, { type: 'cancelled', accepted: true });
    expect(back.status).toBe('compensating');
    expect(decide(line, back, 0).settle).toBe('stuck');
  });

  it('it goes no further when a step gives up', () => {
    const failed: SagaEvent[] = [
      { type: 'step-started', step: 'ship' },
      {
        type: 'step-failed',
        step: 'ship',
        kind: 'rejected',
        unknown: false,
        retryable: false,
        error: { name: 'Error', message: 'no' },
        now: 0,
        random: 0,
      },
    ];
    const stopped = failed.reduce((state, event) => evolve(line, state, event), passed);
    expect(stopped.status).toBe('running');
    expect(decide(line, stopped, 0)).toEqual({ actions: [], settle: 'stuck' });
  });
});

describe('a point of no return that is passed while the saga turns back', () => {
  const turning = stateOf('compensating', 'book=completed pay=running! pack=failed');

  it.each<[string, SagaEvent]>([
    ['completes', { type: 'step-completed', step: 'pay', now: 0 }],
    [
      'may have been',
      {
        type: 'step-failed',
        step: 'pay',
        kind: 'timeout',
        unknown: true,
        retryable: false,
        error: { name: 'Error', message: 'no' },
        now: 0,
        random: 0,
      },
    ],
  ])('%s: what comes before it is not undone, and a person decides', (_, event) => {
    const state = evolve(fork, turning, event);
    expect(decide(fork, state, 0)).toEqual({ actions: [], settle: 'stuck' });
  });
});
