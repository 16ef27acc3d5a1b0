/** The time (ms) between two looks at the files. */
const INTERVAL = 1_000;

/**
 * Calls `changed` when the files have changed, and have not changed again until the next look: one that is being written
 * is not used. The files are read at an interval, which also works where the operating
 * system reports no changes: on network drives, and for files that are mounted into a container.
 * @param first what the files were when they were used
 * @param read returns what they are
 * @returns a function that ends it
 */
export function watchFiles(first: unknown, read: () => Promise<unknown>, changed: () => void): () => void {
  let used = JSON.stringify(first);
  let before = used;
  let isReading = false;
  const look = async () => {
    if (isReading) return;
    isReading = true;
    const now = JSON.stringify(await read().finally(() => (isReading = false)));
    if (now !== used && now === before) {
      used = now;
      changed();
    }
    before = now;
  };
  const timer = setInterval(() => void look(), INTERVAL);
  return () => clearInterval(timer);
}
