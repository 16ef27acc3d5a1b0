/** All of a type, so that the compiler misses what is added to it and not where this is used. */
export type Parts<T> = { [Key in keyof Required<T>]: T[Key] };
