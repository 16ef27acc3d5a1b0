/**
 * The type of a value after it was stored as JSON and read again: a Date is its ISO string, an object with `toJSON()`
 * is the result of `toJSON()`, and methods are removed. Steps, compensations and callers always see this form.
 */
export type Serialized<T> = 0 extends 1 & T
  ? T
  : T extends { toJSON(key: string): infer R }
    ? Stored<R>
    : Stored<T>;

/** `toJSON()` is called once: what it returns is stored as it is, its parts by the same rules again. */
type Stored<T> = 0 extends 1 & T
  ? T
  : unknown extends T
    ? T
    : T extends string | number | boolean | null | undefined | void
      ? T
      : T extends
            | bigint
            | symbol
            | ((...args: never[]) => unknown)
            | ReadonlyMap<unknown, unknown>
            | ReadonlySet<unknown>
            | PromiseLike<unknown>
        ? never
        : T extends readonly unknown[]
          ? { [K in keyof T]: Serialized<T[K]> }
          : T extends object
            ? { [K in keyof T as SerializedKey<T, K>]: Serialized<T[K]> }
            : never;

/** Objects lose their methods and symbols. */
type SerializedKey<T, K extends keyof T> = K extends symbol
  ? never
  : T[K] extends (...args: never[]) => unknown
    ? never
    : K;
