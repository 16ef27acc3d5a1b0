import { nearestName } from '../../shared/nearest-name.js';
import { classesOf, type Wrapper } from './provided-class.js';

type Method = (input: unknown, context: object) => unknown;

/**
 * Finds methods of the application's providers by name: `StockService.reserve`. A text says why there is none.
 */
export function providerMethods(providers: readonly Wrapper[]): (name: string) => Method | string {
  const byClass = byClassName(providers);
  return (name) => {
    const [className, method] = name.split('.') as [string, string];
    const [wrapper, other] = byClass.get(className)?.values() ?? [];
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

function methodsOf(instance: object): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(instance) as object);
}
