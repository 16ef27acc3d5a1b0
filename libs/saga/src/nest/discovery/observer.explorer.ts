import { textOfProblems } from '../../shared/diagnostic.js';
import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { nearestName } from '../../shared/nearest-name.js';
import {
  OBSERVED_EVENTS,
  type ObservedEvent,
  type ObservedEventType,
} from '../../definition/types/observed-event.js';
import { type ObserverMetadata, SagaMetadata } from '../../definition/decorators/saga-metadata.js';
import { methodsOf } from '../../definition/decorators/saga-methods.js';
import { shown } from '../../shared/shown-value.js';
import type { EngineLog } from '../../engine/ports/engine-log.js';
import { SagaDefinitionError } from '../../errors.js';
import { EventObserver, type EventObserverPorts } from './event-observer.js';
import { classThat, instanceOf, isClass, type Wrapper } from './providers.js';
import type { SagaRegistry } from './saga.registry.js';
import type { WorkInProgress } from '../life-cycle/work-in-progress.js';

type Method = (event: ObservedEvent) => unknown;

/** Finds every method with `@OnSagaEvent` on the application's providers and controllers. */
@Injectable()
export class ObserverExplorer {
  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws SagaDefinitionError naming every observer that is wrong at once */
  explore(registry: SagaRegistry, log: EngineLog, work: WorkInProgress): EventObserver[] {
    const problems = new Set<string>();
    const seen = new Set<unknown>();
    const found: EventObserver[] = [];
    for (const wrapper of [...this.discovery.getProviders(), ...this.discovery.getControllers()]) {
      const type = classThat(observes, wrapper);
      // An instance under several tokens (useExisting) observes once.
      if (!type || seen.has(wrapper.instance)) continue;
      seen.add(wrapper.instance);
      try {
        found.push(...observersOf(type, wrapper, registry, { log, work }));
      } catch (error) {
        if (!(error instanceof SagaDefinitionError)) throw error;
        problems.add(error.message.replace(/\.$/, ''));
      }
    }
    if (problems.size > 0) throw new SagaDefinitionError(textOfProblems(problems));
    return found;
  }
}

function observes(type: Type): boolean {
  return SagaMetadata.observersOf(type).length > 0 || SagaMetadata.staticObserversOf(type).length > 0;
}

function observersOf(
  type: Type,
  wrapper: Wrapper,
  registry: SagaRegistry,
  ports: EventObserverPorts,
): EventObserver[] {
  const problems = SagaMetadata.staticObserversOf(type).map(
    ({ method }) =>
      `${type.name}.${method} is static. Make it an instance method: @OnSagaEvent does not work on static methods`,
  );
  const observers = SagaMetadata.observersOf(type);
  const { generators } = methodsOf(type);
  for (const { method } of observers) {
    if (!generators.includes(method)) continue;
    problems.push(`${type.name}.${method} is a generator, whose body a call does not run. Remove the *`);
  }
  for (const observer of observers)
    problems.push(...flawsOf(`${type.name}.${observer.method}`, observer, registry));
  if (problems.length > 0) throw new SagaDefinitionError(textOfProblems(problems));
  const instance = instanceOf<Method>(wrapper, type, '@OnSagaEvent methods');
  return observers.map(({ method, types, saga }) => {
    const name = saga && registry.nameOf(saga.given as Type);
    const call = (event: ObservedEvent) => instance[method]!(event);
    return new EventObserver(`${type.name}.${method}`, types as ObservedEventType[], name, call, ports);
  });
}

function flawsOf(where: string, { types, saga }: ObserverMetadata, registry: SagaRegistry): string[] {
  const known: readonly unknown[] = OBSERVED_EVENTS;
  const flaws = types.filter((type) => !known.includes(type)).map((type) => `${where}: ${noEvent(type)}`);
  if (types.length === 0) flaws.push(`${where}: @OnSagaEvent([]) observes no events. Name an event`);
  if (saga && !isClass(saga.given)) {
    flaws.push(
      `${where}: @OnSagaEvent(…, ${shown(saga.given)}) does not name a class` +
        (saga.given === undefined ? '; if it is a class, its file and this file import each other' : '') +
        `. Give the class of a saga, or omit it to observe every saga`,
    );
  } else if (saga && !registry.has(saga.given as Type)) {
    flaws.push(
      `${where}: ${(saga.given as Type).name} is not a saga of this application. Decorate it with @Saga() and add it to ` +
        `the providers of a module, or omit it to observe every saga`,
    );
  }
  return flaws;
}

function noEvent(type: unknown): string {
  const like = typeof type === 'string' ? nearestName(type, OBSERVED_EVENTS) : undefined;
  return (
    `@OnSagaEvent(${shown(type)}) is not an event of a saga. ` +
    (like === undefined ? `Events: ${OBSERVED_EVENTS.join(', ')}` : `Did you mean '${like}'?`)
  );
}
