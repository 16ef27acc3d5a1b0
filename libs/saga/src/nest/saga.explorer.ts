import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { buildSagaGraph, type DefaultPolicies } from '../definition/build-saga-graph.js';
import { linkSubSagas } from '../definition/link-sub-sagas.js';
import { sagaLabel } from '../definition/saga-graph.js';
import { methodsOf } from '../definition/saga-methods.js';
import { SagaMetadata } from '../definition/saga-metadata.js';
import { SagaDefinitionError } from '../errors/saga-errors.js';
import { SagaRegistry, type RegisteredSaga } from './saga.registry.js';

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** Finds every `@Saga` provider of the application, in whichever module. */
@Injectable()
export class SagaExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws SagaDefinitionError naming every wrong saga at once */
  explore(defaults: DefaultPolicies): SagaRegistry {
    const problems: string[] = [];
    const found = new Map<Type, RegisteredSaga & { readonly module: string }>();
    for (const wrapper of this.discovery.getProviders()) {
      const type = wrapper.metatype as Type | null;
      if (!type || typeof type !== 'function' || !SagaMetadata.sagaOf(type)) continue;
      const module = wrapper.host?.name ?? 'unknown';
      const before = found.get(type);
      if (before) {
        if (before.instance === wrapper.instance) continue; // an alias: useExisting
        problems.push(
          `${type.name} is provided by ${before.module} and again by ${module}. Provide it in one module, ` +
            `and export it from there`,
        );
        continue;
      }
      try {
        found.set(type, { ...this.register(wrapper, type, defaults), module });
      } catch (error) {
        if (!(error instanceof SagaDefinitionError)) throw error;
        problems.push(error.message.replace(/\.$/, ''));
      }
    }
    problems.push(...duplicates([...found.values()]));
    if (problems.length === 0) problems.push(...linkSubSagas([...found.values()]));
    if (problems.length > 0) throw new SagaDefinitionError(`${problems.join('. ')}.`);
    return new SagaRegistry([...found.values()]);
  }

  private register(wrapper: Wrapper, type: Type, defaults: DefaultPolicies): RegisteredSaga {
    const graph = buildSagaGraph(type, defaults);
    if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
      throw new SagaDefinitionError(
        `${type.name} is request-scoped or transient, itself or through a dependency, but its steps run long after any ` +
          `request. Use the default scope, and pass what the request knows in the saga's input.`,
      );
    }
    const instance = wrapper.instance as Record<string, (context: object, payload?: unknown) => unknown>;
    const methods = new Set(methodsOf(type).plain);
    return { type, graph, methods, instance, invoke: (...[method, ...args]) => instance[method]!(...args) };
  }
}

function duplicates(sagas: readonly RegisteredSaga[]): string[] {
  const byLabel = new Map<string, RegisteredSaga>();
  return sagas.flatMap((saga) => {
    const label = sagaLabel(saga.graph);
    const other = byLabel.get(label);
    byLabel.set(label, saga);
    return other
      ? [
          `${other.type.name} and ${saga.type.name} are both named '${saga.graph.name}' in version ${saga.graph.version}. ` +
            `Give one another name, or a higher version: @Saga({ name: '…' }) or @Saga({ version: ${saga.graph.version + 1} })`,
        ]
      : [];
  });
}
