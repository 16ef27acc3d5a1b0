import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { DiscoveryService } from '@nestjs/core';
import { SagaDefinitionError } from '../../errors.js';
import { nearestName } from '../../shared/nearest-name.js';

export type Wrapper = ReturnType<DiscoveryService['getProviders']>[number];

/** The class of a provider or controller for which this holds. */
export function classThat(holds: (type: Type) => boolean, wrapper: Wrapper): Type | undefined {
  return classesOf(wrapper).find(holds);
}

/** The class of a provider as it is declared, and as a factory has made it. */
function classesOf({ metatype, instance }: Wrapper): Type[] {
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
export function instanceOf<Call>(wrapper: Wrapper, type: Type, what: string): Record<string, Call> {
  if (!isSingle(wrapper)) {
    throw new SagaDefinitionError(
      `${type.name} is request-scoped or transient, itself or through a dependency, but its ${what} run after the end of any ` +
        `request. Use the default scope, and pass data of the request in the saga's input.`,
    );
  }
  return wrapper.instance as Record<string, Call>;
}

/** Whether the application has one instance of a provider. A request-scoped or transient one has several, or none yet. */
function isSingle(wrapper: Wrapper): boolean {
  return !wrapper.isTransient && wrapper.isDependencyTreeStatic();
}

/** A method that steps of declared sagas call. */
type Method = (input: unknown, context: object) => unknown;

/** Returns the method with a name; a text says why there is none. */
export type FindMethod = (name: string) => Method | string;

/**
 * Finds methods of the application's providers by name: `StockService.reserve`. A text says why there is none.
 */
export function providerMethods(providers: readonly Wrapper[]): FindMethod {
  const byClass = byClassName(providers);
  return (name) => {
    const [className, method] = name.split('.') as [string, string];
    const [wrapper, other] = byClass.get(className)?.values() ?? [];
    if (!wrapper) return `there is no provider ${className}${like(className, namesOf(providers))}`;
    if (other) return `there are several providers of a class ${className}`;
    if (!isSingle(wrapper))
      return `${className} is request-scoped or transient, but steps run after the end of any request`;
    const instance = wrapper.instance as Record<string, unknown>;
    if (typeof instance[method] !== 'function')
      return `${className} has no method ${method}${like(method, methodNamesOf(instance))}`;
    return (input, context) => (instance[method] as Method)(input, context);
  };
}

/** The providers by the names of their classes, and each instance once. */
function byClassName(providers: readonly Wrapper[]): ReadonlyMap<string, ReadonlyMap<unknown, Wrapper>> {
  const found = new Map<string, Map<unknown, Wrapper>>();
  for (const wrapper of providers)
    for (const { name } of classesOf(wrapper))
      found.set(name, (found.get(name) ?? new Map<unknown, Wrapper>()).set(wrapper.instance, wrapper));
  return found;
}

function like(written: string, names: readonly string[]): string {
  const nearest = nearestName(written, names);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

function namesOf(providers: readonly Wrapper[]): string[] {
  return providers.flatMap((wrapper) => classesOf(wrapper)[0]?.name ?? []);
}

function methodNamesOf(instance: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(instance) as object);
}

/** What the compiler says of a constructor's parameters, with `emitDecoratorMetadata`. */
const TYPES = 'design:paramtypes';
/** What `@Inject()` says of them. */
const TOKENS = 'self:paramtypes';

/**
 * Where Nest knows nothing of a constructor's parameters it gives undefined for them, and does not say so: steps would
 * fail later, on something else. esbuild, and what is built on it, emits no types.
 * @param what the class is decorated with, in the words of the message
 * @returns what is wrong with it, and the fix, if anything is
 */
export function uninjectedParameters(type: Type, what: string): string | undefined {
  if (type.length === 0 || Reflect.getMetadata(TYPES, type) !== undefined) return undefined;
  const tokens = (Reflect.getMetadata(TOKENS, type) ?? []) as { readonly index: number }[];
  const known = new Set(tokens.map(({ index }) => index));
  const missing = Array.from({ length: type.length }, (_, index) => index).filter(
    (index) => !known.has(index),
  );
  if (missing.length === 0) return undefined;
  const [parameters, are, them] =
    missing.length === 1 ? ['parameter', 'is', 'it'] : ['parameters', 'are', 'them'];
  return (
    `${type.name}: the constructor's ${parameters} ${missing.join(', ')} (counted from 0) ${are} undefined, because the ` +
    `compiler emitted no types for ${them}. esbuild, tsx and Vitest before Vite 8 never emit them; tsc and swc do, with ` +
    `emitDecoratorMetadata, on a class that is decorated with ${what}. Build with tsc or swc, or name each: ` +
    `constructor(@Inject(StockService) private readonly stock: StockService)`
  );
}
