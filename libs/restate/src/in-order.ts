/** Does all at once, but those that have a key in common one after the other. */
export function inOrder<T, R>(
  items: readonly T[],
  keysOf: (item: T) => readonly string[],
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const last = new Map<string, Promise<R>>();
  return Promise.all(
    items.map((item) => {
      const keys = keysOf(item);
      const done = Promise.all(keys.flatMap((key) => last.get(key) ?? [])).then(() => work(item));
      for (const key of keys) last.set(key, done);
      return done;
    }),
  );
}
