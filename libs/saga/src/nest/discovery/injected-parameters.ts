import 'reflect-metadata';
import type { Type } from '@nestjs/common';

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
