// How long the event loop could not run anything else.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { sleep } from './figures.mjs';

/** ms between two looks: a stall that begins between them is seen up to this much shorter. */
const RESOLUTION = 1;

/**
 * The monitor compares each look with the one before, so the first and the last must be outside of the load. On a busy
 * machine, timers that are due together run in one go, so only the number of looks shows that the monitor has looked.
 */
async function looked(delay) {
  const before = delay.count;
  while (delay.count === before) await sleep(RESOLUTION);
}

/** Without the time that passes between two looks in any case. */
const ms = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);

/**
 * Watches the event loop from now on.
 * @returns a function that ends it: { stall_p99_ms, stall_max_ms }; p99 is that of all looks, with and without a stall
 */
export async function watchStalls() {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  delay.enable();
  await looked(delay);
  return async () => {
    await looked(delay);
    delay.disable();
    return { stall_p99_ms: ms(delay.percentile(99)), stall_max_ms: ms(delay.max) };
  };
}

/** The worst of several runs or processes; nothing for none. */
export function worstOf(stalls) {
  const worst = (name) => ({ [name]: Math.max(...stalls.map((one) => one[name])) });
  return stalls.length > 0 ? { ...worst('stall_p99_ms'), ...worst('stall_max_ms') } : {};
}
