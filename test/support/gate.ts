/** A promise that a test opens: what steps wait at, or what a test waits for a step to reach. */
export class Gate<T = void> {
  readonly opened: Promise<T>;
  open!: (value: T) => void;

  constructor() {
    this.opened = new Promise<T>((resolve) => (this.open = resolve));
  }
}

/** Milliseconds: less than the time that a test has, so that a failure says which condition never held. */
const PATIENCE = 150_000;

/**
 * Resolves once the check gives something true, and with it.
 * @throws after 150 s, with the place of the call
 */
export async function until<T>(check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const failure = new Error(`Not true within ${PATIENCE / 1000} s: ${String(check)}`);
  for (const end = performance.now() + PATIENCE; ;) {
    const value = await check();
    if (value) return value;
    if (performance.now() > end) throw failure;
    await pause(5);
  }
}

/** What takes time: a slow step, or the pause between two looks. Never a test that hopes. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Resolves with the reason once the signal aborts. */
export function aborted(signal: AbortSignal): Promise<Error> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason as Error);
    else signal.addEventListener('abort', () => resolve(signal.reason as Error), { once: true });
  });
}
