import type { Type } from '@nestjs/common';
import type { SagaGraph } from '../definition/saga-graph.js';
import { shown } from '../definition/shown-value.js';
import { nearestName } from '../definition/nearest-name.js';
import { SagaDefinitionError, SagaValidationError } from '../errors/saga-errors.js';
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

  /**
   * Refuses a signal that no saga of this name waits for, in any version that this application has; of a name that it
   * does not have nothing is known.
   * @throws SagaValidationError
   */
  checkSignal(name: string, signal: string): void {
    const graphs = this.all.map(({ graph }) => graph).filter((graph) => graph.name === name);
    const known = graphs.flatMap(({ steps }) =>
      [...steps.values()].flatMap(({ kind, wait }) => (kind === 'signal' ? [wait!.signal] : [])),
    );
    if (graphs.length === 0 || known.includes(signal)) return;
    const like = nearestName(signal, known);
    const signals =
      known.length > 0 ? `It waits for: ${[...new Set(known)].join(', ')}` : 'It waits for none';
    throw new SagaValidationError(
      `No step of ${name} waits for the signal ${shown(signal)}${like === undefined ? '.' : `; did you mean '${like}'?`} ` +
        `${signals}. Declare one with @WaitFor({ signal }).`,
    );
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
