import type { Type } from '@nestjs/common';
import type { SagaGraph } from '../definition/saga-graph.js';
import { shown } from '../definition/shown-value.js';
import { SagaDefinitionError } from '../errors/saga-errors.js';
import { concurrencyLimits } from '../engine/concurrency-limits.js';
import type { RunnableSaga } from '../engine/invoker.js';
import type { SagaDefinitions } from '../engine/saga-definitions.js';

export interface RegisteredSaga extends RunnableSaga {
  readonly type: Type;
  readonly instance: object;
}

/** The sagas of this application, by class, and by name and version. */
export class SagaRegistry implements SagaDefinitions {
  private readonly byType: ReadonlyMap<Type, RegisteredSaga>;
  private readonly limits: ReadonlyMap<string, number>;

  constructor(readonly all: readonly RegisteredSaga[]) {
    this.byType = new Map(all.map((saga) => [saga.type, saga]));
    this.limits = concurrencyLimits(all.map((saga) => saga.graph));
  }

  /** How many sagas of this name may be advanced at once; undefined: as many as there is room for. */
  concurrencyOf(name: string): number | undefined {
    return this.limits.get(name);
  }

  /** The name of a saga given as its class or as its name. */
  nameOf(saga: Type | string): string {
    return typeof saga === 'string' ? saga : this.ofType(saga).graph.name;
  }

  latest(type: Type): SagaGraph {
    const { name } = this.ofType(type).graph;
    return this.all
      .map((saga) => saga.graph)
      .filter((graph) => graph.name === name)
      .reduce((a, b) => (b.version > a.version ? b : a));
  }

  ofType(type: Type): RegisteredSaga {
    const saga = this.byType.get(type);
    if (saga) return saga;
    const name = typeof type === 'function' && typeof type.name === 'string' ? type.name : shown(type);
    throw new SagaDefinitionError(
      `${name} is not a saga of this application. Decorate it with @Saga() and add it to the providers of a module.`,
    );
  }
}
