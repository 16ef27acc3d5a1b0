import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves once the condition holds. For actions of other processes that send no notification. */
export async function eventually(isSo: () => Promise<boolean>, timeout = 60_000): Promise<void> {
  const deadline = performance.now() + timeout;
  while (!(await isSo())) {
    if (performance.now() > deadline)
      throw new Error(`It did not become so: ${isSo.toString().slice(0, 500)}`);
    await sleep(50);
  }
}
