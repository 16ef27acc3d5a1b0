import { buildSagaGraph } from '../../definition/build/build-saga-graph.js';
import { recordOf } from '../../definition/describe/graph-record.js';
import { Saga } from '../../definition/decorators/saga.decorator.js';
import { Step } from '../../definition/decorators/step.decorator.js';
import { stateOf, stepOf } from '../../../../../test/contract/store-subject.contract.js';
import { SagaMoves } from './upgrade-plan.js';

@Saga({ name: 'order' })
class Order {
  @Step({ pivot: true }) charge() {}
  @Step() ship() {}
}

const graph = buildSagaGraph(Order);
const { name } = graph;
const moves = new SagaMoves(graph, [{ name, version: 1, revision: 1, graph: recordOf(graph) }]);
const obstacle = (given: Parameters<typeof stateOf>[2]) =>
  moves.obstacleOf({
    ...{ id: 'a', name, version: 1, checkpoints: 1, takeovers: 0, cancelRequested: {} },
    state: stateOf('running', { charge: stepOf() }, given),
  });

describe('a saga with a cancellation', () => {
  test('stays on its version while that is to come', () => {
    expect(obstacle({})).toEqual({ problem: 'it is being cancelled', passing: true });
  });

  test('may move once a pivot has overtaken it', () => {
    expect(obstacle({ overtaken: { kind: 'cancelled', step: 'charge' } })).toBeUndefined();
  });
});
