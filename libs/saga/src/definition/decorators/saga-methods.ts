import type { Type } from '@nestjs/common';
import { SagaMetadata } from './saga-metadata.js';

/** The methods of a saga's class, by what they are for. */
export interface SagaMethods {
  readonly className: string;
  readonly all: readonly string[];
  readonly steps: readonly string[];
  /** Those that some step names with `compensate`. */
  readonly compensations: readonly unknown[];
  /** Those that are no steps, and so may be a compensation or a probe. */
  readonly plain: readonly string[];
}

export function methodsOf(saga: Type): SagaMethods {
  const all = methodNames(saga);
  const metadata = SagaMetadata.stepsOf(saga);
  const steps = metadata.map(({ method }) => method);
  return {
    className: saga.name,
    all,
    steps,
    compensations: metadata.map(({ options }) => options.compensate).filter((name) => name !== undefined),
    plain: all.filter((name) => !steps.includes(name)),
  };
}

/** Its methods and those that it inherits, but not what every object has. */
function methodNames(saga: Type): string[] {
  const names = new Set<string>();
  let prototype = saga.prototype as object | null;
  while (prototype && prototype !== Object.prototype) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name !== 'constructor' && typeof property.value === 'function') names.add(name);
    }
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return [...names];
}
