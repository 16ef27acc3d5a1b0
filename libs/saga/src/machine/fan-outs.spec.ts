import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { graphOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL, type SagaState, stepState } from './saga-state.js';

const graph = graphOf(
  stepOf('ship', { forEach: () => [], itemsAtOnce: 2 }),
  stepOf('mail', { after: ['ship'], compensate: undefined }),
);

function after(events: readonly SagaEvent[], from: SagaState = INITIAL): SagaState {
  return events.reduce((state, event) => evolve(graph, state, event), from);
}

const started = (step: string): SagaEvent => ({ type: 'step-started', step });
const completed = (step: string): SagaEvent => ({ type: 'step-completed', step, now: 0 });
const due = (state: SagaState) => decide(graph, state, 0).actions.map(({ key }) => key);
const expanded = (count: number): SagaEvent => ({
  type: 'fan-out-started',
  step: 'ship',
  items: Array.from({ length: count }, (_, n) => `${n}`),
});

describe('the items of a fan-out', () => {
  it('run no more at once than itemsAtOnce', () => {
    const first = after([expanded(5)]);
    expect(due(first)).toEqual(['ship[0]', 'ship[1]']);
    const full = after([started('ship[0]'), started('ship[1]')], first);
    expect(due(full)).toEqual([]);
    expect(due(after([completed('ship[1]')], full))).toEqual(['ship[2]']);
  });

  it('are all to be done before it is', () => {
    const first = after([expanded(2), started('ship[0]'), completed('ship[0]')]);
    expect(stepState(first, 'ship').status).toBe('running');
    const both = after([started('ship[1]'), completed('ship[1]')], first);
    expect(stepState(both, 'ship').status).toBe('completed');
  });

  it('are all to be undone before it is', () => {
    const done = ['ship[0]', 'ship[1]'].flatMap((item) => [started(item), completed(item)]);
    const back = after([expanded(2), ...done, { type: 'cancelled' }]);
    const undone = (step: string): SagaEvent[] => [
      { type: 'compensation-started', step },
      { type: 'compensation-completed', step },
    ];
    const first = after(undone('ship[0]'), back);
    expect(stepState(first, 'ship').status).toBe('completed');
    expect(stepState(after(undone('ship[1]'), first), 'ship').status).toBe('compensated');
  });
});
