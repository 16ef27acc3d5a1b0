// How long the event loop could not run anything else.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { sleep } from './figures.mjs';

/** ms between two looks: a stall that begins between them is seen up to this much shorter. */
const RESOLUTION = 1;
const turn = () => new Promise((resolve) => setImmediate(resolve));

/**
 * The monitor compares each look with the one before, so the first and the last must be outside of the load. Node may run
 * a timer that is due without a turn of the event loop, hence the turn before it.
 */
async function settled() {
  await turn();
  await sleep(3 * RESOLUTION);
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
  await settled();
  return async () => {
    await settled();
    delay.disable();
    return { stall_p99_ms: ms(delay.percentile(99)), stall_max_ms: ms(delay.max) };
  };
}

/** The worst of several runs or processes; nothing for none. */
export function worstOf(stalls) {
  const worst = (name) => ({ [name]: Math.max(...stalls.map((one) => one[name])) });
  return stalls.length > 0 ? { ...worst('stall_p99_ms'), ...worst('stall_max_ms') } : {};
}
