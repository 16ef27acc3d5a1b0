import type { Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { SagaDefinitionError } from '../../errors.js';

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The class of a provider or controller for which this holds. */
export function classThat(holds: (type: Type) => boolean, wrapper: Wrapper): Type | undefined {
  return classesOf(wrapper).find(holds);
}

/** The class of a provider as it is declared, and as a factory has made it. */
export function classesOf({ metatype, instance }: Wrapper): Type[] {
  return [metatype, madeBy(instance)].filter(isClass);
}

function madeBy(instance: unknown): unknown {
  if (typeof instance !== 'object' || instance === null) return undefined;
  return (Object.getPrototypeOf(instance) as object | null)?.constructor;
}

export function isClass(type: unknown): type is Type {
  return typeof type === 'function' && 'prototype' in type;
}

/**
 * The one instance of a provider.
 * @param what of it is called, in the words of the message
 * @throws SagaDefinitionError when there may be others, or none yet
 */
export function instanceOf<Method>(wrapper: Wrapper, type: Type, what: string): Record<string, Method> {
  if (wrapper.isTransient || !wrapper.isDependencyTreeStatic()) {
    throw new SagaDefinitionError(
      `${type.name} is request-scoped or transient, itself or through a dependency, but its ${what} run after the end of any ` +
        `request. Use the default scope, and pass data of the request in the saga's input.`,
    );
  }
  return wrapper.instance as Record<string, Method>;
}
