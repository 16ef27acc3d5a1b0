import { setTimeout as sleep } from 'node:timers/promises';
import type { Claim } from './reconcile.js';

/**
 * The claims once they all hold; or as they are when nothing has become better for as long as `patience` (ms). What
 * follows an order's end, such as the release of its credit, is a message, and may be on its way still.
 */
export async function untilSettled(check: () => Promise<Claim[]>, patience = 20_000): Promise<Claim[]> {
  let best = Infinity;
  for (let since = Date.now(); ; await sleep(patience / 200)) {
    const claims = await check();
    const problems = claims.flatMap((claim) => claim.problems).length;
    if (problems < best) [best, since] = [problems, Date.now()];
    if (problems === 0 || Date.now() > since + patience) return claims;
  }
}
