/** A promise, and what settles it. */
export interface PromiseParts<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a promise whose rejection may stay without a handler. */
export function once<T>(): PromiseParts<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((...parts) => ([resolve, reject] = parts));
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
