import type { Type } from '@nestjs/common';
import { type SagaGraph, sagaLabel } from '../../definition/graph/saga-graph.js';
import { shown } from '../../shared/shown-value.js';
import { nearestName } from '../../shared/nearest-name.js';
import { SagaMetadata } from '../../definition/decorators/saga-metadata.js';
import { SagaDefinitionError, SagaValidationError } from '../../errors.js';
import { signalsOfGraph } from '../../definition/describe/graph-record.js';
import { type LeaseLimit, leaseLimits } from '../../engine/ports/lease-limits.js';
import { checkInput } from '../input/check-input.js';
import type { RunnableSaga } from '../../engine/ports/invoker.js';
import type { SagaDefinitions } from '../../engine/ports/saga-definitions.js';
import type { AwaitedSignals } from '../../engine/ports/saga-store.js';

export interface RegisteredSaga extends RunnableSaga {
  readonly type: Type;
  readonly instance: object;
}

/** The saga of one step in which a step handler runs. */
export interface RegisteredHandler extends RunnableSaga {
  /** The instance of the provider that has the method. */
  readonly type: Type;
  /** The method, and the module that provides it, in the words of messages. */
  readonly where: string;
}

/** The sagas of this application, by class, and by name and version, and its step handlers. */
export class SagaRegistry implements SagaDefinitions {
  private readonly byType: ReadonlyMap<Type, RegisteredSaga>;
  /** The highest version of each name. */
  private readonly latestByName: ReadonlyMap<string, SagaGraph>;
  private readonly limits: ReadonlyMap<string, LeaseLimit>;
  /** How long sagas of a name are kept once they have ended, in milliseconds; the others for ever. */
  readonly retentions: ReadonlyMap<string, number>;
  readonly awaitedSignals: AwaitedSignals;

  /** All that this application can run. */
  readonly all: readonly RunnableSaga[];

  constructor(
    sagas: readonly RegisteredSaga[],
    private readonly handlers: readonly RegisteredHandler[],
    /** The default retention, in milliseconds. */
    retention?: number,
    /** Whether `latest` gives the version of the class itself: each of the operators' classes stands for one version. */
    private readonly isByVersion = false,
  ) {
    this.all = [...sagas, ...handlers];
    this.byType = new Map(sagas.map((saga) => [saga.type, saga]));
    this.latestByName = new Map(ascending(sagas).map((graph) => [graph.name, graph]));
    this.limits = leaseLimits(this.all.map((saga) => saga.graph));
    this.retentions = retentionsOf(sagas, retention);
    this.awaitedSignals = Object.fromEntries(
      this.all.map(({ graph }) => [sagaLabel(graph), signalsOfGraph(graph)]),
    );
  }

  /** What a worker runs for which these classes are given: those that are sagas, and the step handlers that they have. */
  runBy(types: readonly Type[]): RunnableSaga[] {
    return [...new Set(types)].flatMap((type) => {
      const handlers: RunnableSaga[] = this.handlers.filter((handler) => handler.type === type);
      return handlers.length > 0 && !this.byType.has(type) ? handlers : [this.ofType(type), ...handlers];
    });
  }

  /** How many sagas of this name may be advanced at once; undefined: as many as there is room for. */
  limitOf(name: string): number | undefined {
    return this.limits.get(name)?.count;
  }

  /** The name of a saga given as its class or as its name. */
  nameOf(saga: Type | string): string {
    return typeof saga === 'string' ? saga : this.ofType(saga).graph.name;
  }

  latest(type: Type): SagaGraph {
    const { graph } = this.ofType(type);
    if (this.isByVersion) return graph;
    return this.latestOf(graph.name);
  }

  /**
   * The highest version of the saga of this name.
   * @throws SagaDefinitionError if this application does not have the saga
   */
  latestOf(name: string): SagaGraph {
    const latest = this.latestByName.get(name);
    if (latest) return latest;
    const names = [...this.latestByName.keys()];
    const nearest = nearestName(name, names);
    const hint =
      nearest === undefined ? `Its sagas: ${names.join(', ') || 'none'}` : `Did you mean '${nearest}'?`;
    throw new SagaDefinitionError(`This application has no saga named ${shown(name)}. ${hint}`);
  }

  async checked(graph: SagaGraph, input: unknown): Promise<unknown> {
    return checkInput(graph, input);
  }

  has(type: Type): boolean {
    return this.byType.has(type);
  }

  /**
   * Returns the saga of a class.
   * @throws SagaDefinitionError if the class is no saga of this application
   * @throws SagaValidationError if the value is no class
   */
  ofType(type: Type): RegisteredSaga {
    const saga = this.byType.get(type);
    if (saga) return saga;
    if (typeof type !== 'function') {
      const cause = type === undefined ? ' A class is undefined while files import each other.' : '';
      throw new SagaValidationError(`saga is ${shown(type)}; give the class or the name of a saga.${cause}`);
    }
    const name = typeof type.name === 'string' ? type.name : shown(type);
    const decorated = SagaMetadata.sagaOf(type) !== undefined;
    throw new SagaDefinitionError(
      `${name} is not a saga of this application. ` +
        (decorated
          ? `No module provides it. Add it to the providers of a module that the application imports. In a test, pass it to ` +
            `SagaTest.of(…, ${name}).`
          : `Decorate it with @Saga() and add it to the providers of a module.`),
    );
  }
}

/** The retention of each saga, by its name. A handler has none of its own: its tasks are deleted with the saga that asked for them. */
function retentionsOf(sagas: readonly RegisteredSaga[], byDefault: number | undefined): Map<string, number> {
  const latest = new Map(ascending(sagas).map(({ name, retention = byDefault }) => [name, retention]));
  return new Map([...latest].flatMap(([name, age]) => (typeof age === 'number' ? [[name, age]] : [])));
}

/** The graphs of sagas, the lowest version first. */
function ascending(sagas: readonly RegisteredSaga[]): SagaGraph[] {
  return sagas.map(({ graph }) => graph).sort((a, b) => a.version - b.version);
}
