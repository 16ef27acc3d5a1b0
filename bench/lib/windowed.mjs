/** Runs fn(i) for n numbers from `from` on, at most `window` of them at once. */
export async function windowed(from, n, window, fn) {
  let next = from;
  const lane = async () => {
    while (next < from + n) await fn(next++);
  };
  await Promise.all(Array.from({ length: Math.min(window, n) }, lane));
}

/** Calls send([from, from + 1, …]) for n numbers, 500 at a time, one call after the other: for peers that take many jobs at once. */
export async function inBatches(from, n, send) {
  for (let at = 0; at < n; at += 500)
    await send(Array.from({ length: Math.min(500, n - at) }, (_, k) => from + at + k));
}
