import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again until it passes, and rejects with the last failure after a time that only a defect takes. */
export async function eventually<T>(check: () => Promise<T> | T, withinMs = 20_000): Promise<T> {
  const end = Date.now() + withinMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > end) throw error;
      await sleep(50);
    }
  }
}

/** A promise, and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}
