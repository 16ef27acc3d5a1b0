import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { SagaOptions } from './saga-options.js';
import type { AnyNodeOptions } from './step-options.js';

// Shared by copies of this package: the one of the command line may be another than that of the application.
const SAGA = Symbol.for('nestjs-durable-saga:saga');
const STEPS = Symbol.for('nestjs-durable-saga:steps');

/** Which of the decorators declared a step, and what it was given beside its options. */
export type NodeMetadata =
  | { readonly kind: 'step' | 'signal' | 'approval' }
  | { readonly kind: 'sub-saga'; readonly child: () => Type };

export interface StepMetadata {
  readonly method: string;
  readonly options: AnyNodeOptions;
  readonly node: NodeMetadata;
}

const STEP: NodeMetadata = { kind: 'step' };

/** The only writer and the only reader of what the decorators leave on a class. */
export const SagaMetadata = {
  defineSaga(target: object, options: SagaOptions): void {
    Reflect.defineMetadata(SAGA, options, target);
  },

  defineStep(prototype: object, method: string, options: AnyNodeOptions, node: NodeMetadata = STEP): void {
    const own = (Reflect.getOwnMetadata(STEPS, prototype) ?? []) as StepMetadata[];
    Reflect.defineMetadata(STEPS, [...own, { method, options, node }], prototype);
  },

  /** The options of `@Saga` on this very class; a subclass of a saga is not one by itself. */
  sagaOf(target: object): SagaOptions | undefined {
    return Reflect.getOwnMetadata(SAGA, target) as SagaOptions | undefined;
  },

  /** The steps in order of declaration, those of base classes first; a step declared again keeps its place. */
  stepsOf(target: { readonly prototype: object }): StepMetadata[] {
    const chain: object[] = [];
    for (let p: object | null = target.prototype; p; p = Object.getPrototypeOf(p) as object | null)
      chain.unshift(p);
    const steps = new Map<string, StepMetadata>();
    for (const prototype of chain) {
      for (const step of (Reflect.getOwnMetadata(STEPS, prototype) ?? []) as StepMetadata[]) {
        steps.set(step.method, step);
      }
    }
    return [...steps.values()];
  },

  /** Static methods decorated as steps, which is a mistake. */
  staticStepsOf(target: object): StepMetadata[] {
    return (Reflect.getMetadata(STEPS, target) ?? []) as StepMetadata[];
  },
};
