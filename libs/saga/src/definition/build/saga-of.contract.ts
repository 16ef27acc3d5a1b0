import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import { buildSagaGraph, type DefaultPolicies } from './build-saga-graph.js';
import { Saga } from '../decorators/saga.decorator.js';
import type { SagaOptions } from '../options/saga-options.js';
import { Step } from '../decorators/step.decorator.js';

/** A saga whose steps have these options, in this order; `undo` and `look` are plain methods. */
export function sagaOf(steps: Record<string, object>, options: object = {}): Type {
  class OrderSaga {
    undo() {}
    look() {}
  }
  for (const [name, stepOptions] of Object.entries(steps)) {
    Step(stepOptions)(Object.assign(OrderSaga.prototype, { [name]() {} }), name as never, {});
  }
  Saga(options as SagaOptions)(OrderSaga);
  return OrderSaga;
}

/** The message of the SagaDefinitionError that building this saga ends with. */
export function problemsOf(saga: Type, defaults?: DefaultPolicies): string {
  try {
    buildSagaGraph(saga, defaults);
  } catch (error) {
    expect(error).toBeInstanceOf(SagaDefinitionError);
    expect((error as SagaDefinitionError).code).toBe('SAGA_DEFINITION');
    return (error as Error).message;
  }
  throw new Error('a graph was built where problems were expected');
}
