import type { Type } from '@nestjs/common';
import { nearestName } from '../../shared/nearest-name.js';
import { classThat, type Wrapper } from './provided-class.js';

type Method = (input: unknown, context: object) => unknown;

/**
 * Finds methods of the application's providers by name: `StockService.reserve`. A text says why there is none.
 */
export function providerMethods(providers: readonly Wrapper[]): (name: string) => Method | string {
  return (name) => {
    const [className, method] = name.split('.') as [string, string];
    const isNamed = (type: Type) => type.name === className;
    const found = new Map(
      providers.flatMap((wrapper) => (classThat(isNamed, wrapper) ? [[wrapper.instance, wrapper]] : [])),
    );
    const [wrapper, other] = [...found.values()];
    if (!wrapper) return `there is no provider ${className}${like(className, namesOf(providers))}`;
    if (other) return `there are several providers of a class ${className}`;
    if (wrapper.isTransient || !wrapper.isDependencyTreeStatic())
      return `${className} is request-scoped or transient, but steps run after the end of any request`;
    const instance = wrapper.instance as Record<string, unknown>;
    if (typeof instance[method] !== 'function')
      return `${className} has no method ${method}${like(method, methodsOf(instance))}`;
    return (input, context) => (instance[method] as Method)(input, context);
  };
}

function like(written: string, names: readonly string[]): string {
  const nearest = nearestName(written, names);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

function namesOf(providers: readonly Wrapper[]): string[] {
  return providers.flatMap((wrapper) => classThat(() => true, wrapper)?.name ?? []);
}

function methodsOf(instance: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(instance) as object);
}
