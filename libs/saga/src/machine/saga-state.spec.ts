import { NEEDS_ATTENTION, SAGA_STATUSES, type SagaStatus } from '../definition/types/saga-status.js';
import { isInProgress, isSettled, isTerminal, needsOperator } from './saga-state.js';

describe('the status of a saga', () => {
  it.each<[string, (status: SagaStatus) => boolean, SagaStatus[]]>([
    ['in progress', isInProgress, ['running', 'compensating']],
    ['terminal', isTerminal, ['completed', 'compensated', 'aborted']],
    ['idle until an operator fixes it', needsOperator, ['stuck', 'suspended']],
    ['settled', isSettled, ['completed', 'compensated', 'stuck', 'suspended', 'aborted']],
  ])('is %s for these', (_, is, expected) => {
    expect(SAGA_STATUSES.filter(is)).toEqual(expected);
  });

  it.each(SAGA_STATUSES)('%s is either in progress, or terminal, or needs attention', (status) => {
    const kinds = [isInProgress(status), isTerminal(status), NEEDS_ATTENTION.includes(status)];
    expect(kinds.filter(Boolean)).toHaveLength(1);
  });
});
