/** Runs fn(i) for n numbers from `from` on, at most `window` of them at once. */
export async function windowed(from, n, window, fn) {
  let next = from;
  const lane = async () => {
    while (next < from + n) await fn(next++);
  };
  await Promise.all(Array.from({ length: Math.min(window, n) }, lane));
}
