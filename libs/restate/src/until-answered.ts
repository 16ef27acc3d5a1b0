import { setTimeout as sleep } from 'node:timers/promises';
import { SagaUnavailableError } from 'nestjs-durable-saga/internal/backend';

/** How long (ms) a server is asked again that starts, or a partition of which has no leader. */
export const ANSWERS_WITHIN = 30_000;
const AGAIN_AFTER = 250;

/**
 * @param isWaitedFor the errors after which it is asked again
 * @throws SagaUnavailableError with this problem
 */
export async function untilAnswered<T>(
  problem: string,
  ask: () => Promise<T>,
  isWaitedFor: (error: unknown) => boolean = () => true,
): Promise<T> {
  const until = performance.now() + ANSWERS_WITHIN;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isWaitedFor(error)) throw error;
      if (performance.now() > until)
        throw new SagaUnavailableError(`${problem}: ${(error as Error).message}`, { cause: error });
    }
    await sleep(AGAIN_AFTER);
  }
}
