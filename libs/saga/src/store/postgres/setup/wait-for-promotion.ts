import { setTimeout as sleep } from 'node:timers/promises';
import { SagaConfigurationError } from '../../../errors.js';
import { isTransientError } from '../connection/transient-errors.js';

/** How long (ms) a start-up waits for a standby to be promoted. Managed databases fail over within a minute. */
const PROMOTION_TIMEOUT_MS = 60_000;

/** ms between two attempts. */
const INTERVAL_MS = 500;

/** The server is a standby, which cannot be written to unless it is promoted. */
export class StandbyError extends SagaConfigurationError {
  /** Applications see it by its public class. */
  override readonly name = SagaConfigurationError.name;
}

/**
 * Runs work of a start-up again while the server is a standby: an application that starts during a failover waits for the
 * promotion. Once a standby was seen, lost connections are part of the failover, too. On a primary, the work runs once.
 * @param report receives the first refusal
 * @throws what the work throws last, after the timeout
 */
export async function waitForPromotion(
  work: () => Promise<unknown>,
  report: (refusal: StandbyError) => void,
): Promise<void> {
  let deadline: number | undefined;
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (error instanceof StandbyError && deadline === undefined) {
        deadline = performance.now() + PROMOTION_TIMEOUT_MS;
        report(error);
      }
      const mayPass = error instanceof StandbyError || isTransientError(error);
      if (deadline === undefined || !mayPass || performance.now() > deadline) throw error;
      await sleep(INTERVAL_MS);
    }
  }
}
