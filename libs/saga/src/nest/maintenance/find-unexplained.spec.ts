import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { PENDING, type SagaState, type StepState } from '../../machine/saga-state.js';
import { MemorySagaStore } from '../../store/memory/memory-saga-store.js';
import {
  checkpointOf,
  held,
  started,
  stateOf,
  stepOf as stateOfStep,
} from '../../../../../test/contract/store-subject.contract.js';
import { findUnexplained } from './find-unexplained.js';

const graph = graphOf(
  stepOf('first', { kind: 'signal', wait: { signal: 'go' } }),
  stepOf('second', { after: ['first'] }),
);

/** What is found of a saga that its worker has given back in this state, due at no time. */
async function problems(state: SagaState, sent?: string, store = new MemorySagaStore()) {
  const saga = await held(store);
  await store.checkpoint([checkpointOf(saga, state, { release: {} })]);
  if (sent !== undefined) {
    await store.signal([{ target: { id: saga.id }, name: sent, messageId: 'm' }]);
    // The saga is not woken.
    const woken = (await store.claim({ lease: { worker: 'w', duration: 1e6 }, sagas: [saga], limit: 1 }))
      .sagas;
    for (const one of woken) await store.checkpoint([checkpointOf(one, state, { release: {} })]);
  }
  return (await findUnexplained({ store, graphOf: () => graph })).map(({ problem }) => problem);
}

const waiting = (step: Partial<StepState>): SagaState =>
  stateOf('running', { first: { ...PENDING, status: 'waiting', ...step } });
const WAIT = { wait: { signal: 'go' } };

test.each<[string, SagaState, string | undefined, string[]]>([
  ['waits for a signal', waiting(WAIT), undefined, []],
  ['needs an operator', stateOf('stuck', { first: stateOfStep({ status: 'failed' }) }), undefined, []],
  ['has ended', stateOf('completed'), undefined, []],
  ['could begin', stateOf('running'), undefined, ['waits for nothing that is stored']],
  [
    'waits for a signal that has come',
    waiting(WAIT),
    'go',
    ["has received the signal 'go' that it waits for, and is not due"],
  ],
  [
    'waits for a signal until a time',
    waiting({ wait: { signal: 'go', until: 9e15 } }),
    undefined,
    ['waits for a time (signal), and is not due then'],
  ],
  [
    'waits for a saga that is gone',
    waiting({ child: { id: 'gone', phase: 'running' } }),
    undefined,
    ["waits for saga gone that step 'first' started, which does not exist"],
  ],
])('a saga that no worker holds and that is not due: one that %s', async (_, state, sent, expected) => {
  expect(await problems(state, sent)).toEqual(expected);
});

test('a saga that is due, or held by a worker, is not looked at', async () => {
  const store = new MemorySagaStore();
  await started(store);
  await held(store);
  expect(await findUnexplained({ store, graphOf: () => graph })).toEqual([]);
});
