/** The time (ms) between two looks at the files. */
const INTERVAL = 1_000;

/**
 * Calls `changed` when the files have changed. The files are read at an interval, which also works where the operating
 * system reports no changes: on network drives, and for files that are mounted into a container.
 * @param first what the files were when they were used
 * @param read returns what they are
 * @returns a function that ends it
 */
export function watchFiles(first: unknown, read: () => Promise<unknown>, changed: () => void): () => void {
  let before = JSON.stringify(first);
  let isReading = false;
  const look = async () => {
    if (isReading) return;
    isReading = true;
    const now = JSON.stringify(await read().finally(() => (isReading = false)));
    if (now !== before) changed();
    before = now;
  };
  const timer = setInterval(() => void look(), INTERVAL);
  return () => clearInterval(timer);
}
