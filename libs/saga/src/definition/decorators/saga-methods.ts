import { types } from 'node:util';
import type { Type } from '@nestjs/common';
import { SagaMetadata } from './saga-metadata.js';

/** The methods of a saga's class, by what they are for. */
export interface SagaMethods {
  readonly className: string;
  readonly all: readonly string[];
  readonly steps: readonly string[];
  /** The methods that some step names with `compensate`. */
  readonly compensations: readonly unknown[];
  /** The methods that are no steps, and so may be a compensation or a probe. */
  readonly plain: readonly string[];
  /** The methods with `*`: a call of one runs nothing. */
  readonly generators: readonly string[];
}

export function methodsOf(saga: Type): SagaMethods {
  const methods = methodsByName(saga);
  const all = [...methods.keys()];
  const metadata = SagaMetadata.stepsOf(saga);
  const steps = metadata.map(({ method }) => method);
  return {
    className: saga.name,
    all,
    steps,
    compensations: metadata.map(({ options }) => options.compensate).filter((name) => name !== undefined),
    plain: all.filter((name) => !steps.includes(name)),
    generators: all.filter((name) => types.isGeneratorFunction(methods.get(name))),
  };
}

/** Returns the methods of a class and those that it inherits, but not what every object has. */
function methodsByName(saga: Type): Map<string, unknown> {
  const methods = new Map<string, unknown>();
  let prototype = saga.prototype as object | null;
  while (prototype && prototype !== Object.prototype) {
    for (const [name, property] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (name === 'constructor' || typeof property.value !== 'function' || methods.has(name)) continue;
      methods.set(name, property.value);
    }
    prototype = Object.getPrototypeOf(prototype) as object | null;
  }
  return methods;
}
