import { SagaDefinitionError } from '../../errors.js';

/**
 * The name of a decorated method, as a decorator is given it where `experimentalDecorators` is set, as Nest needs it.
 * Standard decorators are given an object in its place, and a prototype never: nothing that Nest, or this package,
 * leaves on a class would be found again.
 * @param decorator as users write it: `@Step`
 * @throws SagaDefinitionError when the file was compiled with standard decorators
 */
export function methodName(decorator: string, key: unknown): string {
  if (typeof key !== 'object' || key === null || !('kind' in key)) return key as string;
  const { name } = key as { name?: unknown };
  throw new SagaDefinitionError(
    `${decorator} on the method ${String(name)}: this file was compiled with standard decorators, which Nest does not ` +
      `support. Set "experimentalDecorators": true and "emitDecoratorMetadata": true under compilerOptions of tsconfig.json, ` +
      `and make sure that the compiler reads that file.`,
  );
}
