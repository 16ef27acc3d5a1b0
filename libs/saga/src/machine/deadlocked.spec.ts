import { decide } from './decide.js';
import { evolve } from './evolve.js';
import { sequenceOf, stepOf } from '../../../../test/fixtures/graph-of.js';
import type { SagaEvent } from './saga-event.js';
import { INITIAL } from './saga-state.js';
import { stateOf } from '../../../../test/fixtures/state-of.js';

const GRAPH = sequenceOf(stepOf('a', { compensate: 'undo a' }));
const error = { name: 'SagaLockDeadlockError', code: 'SAGA_LOCK_DEADLOCK', message: 'a circle' };
const EVENT: SagaEvent = { type: 'deadlocked', error };

describe('a saga that would wait for its lock for ever', () => {
  test('fails, and is compensated with nothing to do, also if a failure suspends it', () => {
    for (const onFailure of ['compensate', 'suspend'] as const) {
      const graph = { ...GRAPH, onFailure };
      const failed = evolve(graph, INITIAL, EVENT);
      expect(failed).toMatchObject({ status: 'compensating', failure: { kind: 'error', error } });
      expect(decide(graph, failed, 0).settle).toBe('compensated');
    }
  });

  test('is stuck if it is undone, and goes on with that when an operator retries it', () => {
    const undone = evolve(GRAPH, stateOf('completed', 'a=completed'), {
      type: 'undone',
    });
    const stuck = evolve(GRAPH, undone, EVENT);
    expect(stuck).toMatchObject({
      status: 'stuck',
      heldPhase: 'compensating',
      failure: { kind: 'undone', error },
    });
    const retried = evolve(GRAPH, stuck, { type: 'retried' });
    expect(retried).toMatchObject({ status: 'compensating', failure: { kind: 'undone' } });
    expect(decide(GRAPH, retried, 0).actions).toMatchObject([{ kind: 'compensate', key: 'a' }]);
  });

  test.each(['completed', 'compensated', 'aborted', 'stuck', 'paused'] as const)(
    'changes nothing while the saga is %s',
    (status) => {
      const state = { ...INITIAL, status };
      expect(evolve(GRAPH, state, EVENT)).toBe(state);
    },
  );
});
