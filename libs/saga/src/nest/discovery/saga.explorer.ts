import { resolve } from 'node:path';
import { textOfProblems } from '../../shared/diagnostic.js';
import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { buildHandlerGraphs } from '../../definition/build/build-handler-graphs.js';
import { buildSagaGraph, type DefaultPolicies } from '../../definition/build/build-saga-graph.js';
import { handlerOf } from '../../definition/options/handler-name.js';
import { linkSubSagas } from '../../definition/graph/link-sub-sagas.js';
import { sagaLabel } from '../../definition/graph/saga-graph.js';
import { methodsOf } from '../../definition/decorators/saga-methods.js';
import { SagaMetadata } from '../../definition/decorators/saga-metadata.js';
import { SagaConfigurationError, SagaDefinitionError } from '../../errors.js';
import { handlerInvoker } from '../../engine/ports/handler-calls.js';
import type { Invoker } from '../../engine/ports/invoker.js';
import { FOLDER, readVersion } from '../../shared/this-package.cjs';
import { uncheckableInputs } from '../input/class-input.js';
import {
  classThat,
  instanceOf,
  isClass,
  providerMethods,
  uninjectedParameters,
  type Wrapper,
} from './providers.js';
import { declaredPackage } from './declared-package.js';
import { type RegisteredHandler, SagaRegistry, type RegisteredSaga } from './saga.registry.js';

/** By which every copy of this package knows the explorers of the others. Its value: the copy's version and folder. */
const COPY: unique symbol = Symbol.for('nestjs-durable-saga:copy') as never;

type Method = (context: object, payload?: unknown) => unknown;
type SagaInstance = Record<string, Method>;

/** A class that an application provides. */
interface Provided {
  readonly type: Type;
  readonly wrapper: Wrapper;
  readonly module: string;
}

/** What sagas have by default, and the files of declared sagas. */
export interface ExploreOptions extends DefaultPolicies {
  readonly retention?: number;
  readonly declared?: readonly string[];
}

/** Finds every `@Saga` provider of the application, and every provider or controller with `@StepHandler`s, in whichever module. */
@Injectable()
export class SagaExplorer {
  static get [COPY](): string {
    return `${readVersion()} in ${resolve(FOLDER, '../..')}`;
  }

  constructor(private readonly discovery: DiscoveryService) {}

  /**
   * @throws SagaDefinitionError naming every wrong saga, and every wrong handler, at once
   * @throws SagaConfigurationError when the application has several SagaModules, also of other copies of this package
   */
  async explore(defaults: ExploreOptions): Promise<SagaRegistry> {
    const problems: string[] = [];
    const each = <T>(provided: readonly Provided[], register: (one: Provided) => T[]): T[] =>
      provided.flatMap((one) => {
        try {
          return register(one);
        } catch (error) {
          if (!(error instanceof SagaDefinitionError)) throw error;
          problems.push(error.message.replace(/\.$/, ''));
          return [];
        }
      });
    const providers = this.discovery.getProviders();
    checkAlone(providers);
    const all = [...providers, ...this.discovery.getControllers()];
    const sagas = each(provided(providers, sagaOf, problems), (one) => [saga(one, defaults)]);
    // Their files may name the classes as sub-sagas.
    if (problems.length === 0) sagas.push(...(await declaredSagas(defaults, sagas, providers)));
    const handlers = each(provided(all, withHandlers, problems), (one) => handlersOf(one, defaults));
    problems.push(...providers.flatMap(undecorated));
    problems.push(...duplicates(sagas), ...duplicateHandlers(handlers));
    problems.push(...(await uncheckableInputs(sagas)));
    if (problems.length === 0) problems.push(...linkSubSagas(sagas));
    if (problems.length > 0) throw new SagaDefinitionError(textOfProblems(new Set(problems)));
    return new SagaRegistry(sagas, handlers, defaults.retention);
  }
}

/**
 * Refuses a second SagaModule. Each would run all of the application's sagas in its own schema, and an injected
 * service could belong to either.
 */
function checkAlone(providers: readonly Wrapper[]): void {
  const explorers = providers.filter(({ metatype }) => isExplorer(metatype));
  const copies = new Set(explorers.map(({ metatype }) => metatype as typeof SagaExplorer));
  if (copies.size > 1)
    throw new SagaConfigurationError(
      `The SagaModules of ${copies.size} copies of nestjs-durable-saga are imported: ${[...copies].map((copy) => copy[COPY]).join(', ')}. Each would run all ` +
        `sagas of the application. Import SagaModule once, and install one copy: 'npm ls nestjs-durable-saga' shows which ` +
        `packages have their own. Let them have it as a peer dependency, or run 'npm dedupe'.`,
    );
  const modules = new Set(explorers.map(({ host }) => host));
  if (modules.size > 1)
    throw new SagaConfigurationError(
      `SagaModule is imported ${modules.size} times, each time with its own options. Import it once, in the root ` +
        `module: its services can be injected everywhere. For sagas in several schemas or databases, create an ` +
        `application context for each, with NestFactory.createApplicationContext().`,
    );
}

/** Is this the SagaExplorer of any copy of this package? */
function isExplorer(type: unknown): boolean {
  return isClass(type) && Object.hasOwn(type, COPY);
}

/** Each class of this sort once; one that two modules make instances of is a problem. */
function provided(
  wrappers: readonly Wrapper[],
  typeOf: (wrapper: Wrapper) => Type | undefined,
  problems: string[],
): Provided[] {
  const found = new Map<Type, Provided>();
  for (const wrapper of wrappers) {
    const type = typeOf(wrapper);
    if (!type) continue;
    const module = wrapper.host?.name ?? 'unknown';
    const before = found.get(type);
    if (!before) found.set(type, { type, wrapper, module });
    else if (before.wrapper.instance !== wrapper.instance) {
      // Otherwise an alias: useExisting.
      problems.push(
        `${type.name} is provided by ${before.module} and by ${module}. Provide it in one module, ` +
          `and export it from there`,
      );
    }
  }
  return [...found.values()];
}

function sagaOf(wrapper: Wrapper): Type | undefined {
  return classThat((type) => SagaMetadata.sagaOf(type) !== undefined, wrapper);
}

/** A class whose steps would never run. A class that is only extended is no provider. */
function undecorated(wrapper: Wrapper): string[] {
  const type = classThat((one) => SagaMetadata.stepsOf(one).length > 0, wrapper);
  if (!type || SagaMetadata.sagaOf(type)) return [];
  const [first] = SagaMetadata.stepsOf(type);
  return [`${type.name} has steps (${first!.method}), but is not a saga. Decorate the class with @Saga()`];
}

/** Checks the classes that Nest instantiates. Factories and values get their parameters from the application. */
function refuseUninjected({ type, wrapper }: Provided, what: string): void {
  const problem = wrapper.metatype === type ? uninjectedParameters(type, what) : undefined;
  if (problem !== undefined) throw new SagaDefinitionError(`${problem}.`);
}

function withHandlers(wrapper: Wrapper): Type | undefined {
  return classThat(
    (type) => SagaMetadata.handlersOf(type).length > 0 || SagaMetadata.staticHandlersOf(type).length > 0,
    wrapper,
  );
}

function saga(one: Provided, defaults: DefaultPolicies): RegisteredSaga {
  const { type, wrapper } = one;
  refuseUninjected(one, '@Saga()');
  return registered(type, instanceOf<Method>(wrapper, type, 'steps'), defaults);
}

function registered(type: Type, instance: SagaInstance, defaults: DefaultPolicies): RegisteredSaga {
  const graph = buildSagaGraph(type, defaults);
  const methods = new Set(methodsOf(type).plain);
  // Its name marks in stacks where the method ends: see method-stack.ts.
  const callSagaMethod: Invoker = (...[method, ...args]) => instance[method]!(...args);
  return { type, graph, methods, instance, invoke: callSagaMethod };
}

/**
 * @throws DeclaredSagaError that lists all problems of all files
 * @throws SagaConfigurationError if their package is not installed
 */
async function declaredSagas(
  defaults: ExploreOptions,
  others: readonly RegisteredSaga[],
  providers: readonly Wrapper[],
): Promise<RegisteredSaga[]> {
  if (defaults.declared === undefined) return [];
  const { readSagas } = await declaredPackage();
  const types = await readSagas(defaults.declared, {
    sagas: others.map(({ type }) => type),
    findMethod: providerMethods(providers),
  });
  return types.map((type) => registered(type, new type() as SagaInstance, defaults));
}

function handlersOf(one: Provided, defaults: DefaultPolicies): RegisteredHandler[] {
  const { type, wrapper, module } = one;
  refuseUninjected(one, '@Injectable()');
  const graphs = buildHandlerGraphs(type, defaults);
  const instance = instanceOf<Method>(wrapper, type, 'step handlers');
  const methods = new Set(methodsOf(type).plain);
  return graphs.map(({ graph, method }) => {
    const handler = handlerOf(graph.name)!;
    const invoke = handlerInvoker(handler, method, (name, context) => instance[name]!(context));
    return { type, graph, methods, invoke, where: `${type.name}.${method} (${module})` };
  });
}

function duplicates(sagas: readonly RegisteredSaga[]): string[] {
  return twice(
    sagas,
    (one, other) =>
      `${one.type.name} and ${other.type.name} are both named '${other.graph.name}' in version ${other.graph.version}. ` +
      `Give one of them another name or a higher version: @Saga({ name: '…' }) or @Saga({ version: ${other.graph.version + 1} })`,
  );
}

function duplicateHandlers(handlers: readonly RegisteredHandler[]): string[] {
  return twice(handlers, (one, other) => {
    const { name, version } = other.graph;
    return (
      `${one.where} and ${other.where} both declare the handler '${handlerOf(name)}' in version ${version}. Give one of them another ` +
      `name, or a higher version: @StepHandler('${handlerOf(name)}', { version: ${version + 1} })`
    );
  });
}

/** What is to be said of each that has the name and version of one before it. */
function twice<T extends Pick<RegisteredSaga, 'graph'>>(
  sagas: readonly T[],
  problem: (one: T, other: T) => string,
): string[] {
  const byLabel = new Map<string, T>();
  return sagas.flatMap((one) => {
    const label = sagaLabel(one.graph);
    const before = byLabel.get(label);
    byLabel.set(label, one);
    return before ? [problem(before, one)] : [];
  });
}
