// How sagas are sent: so many in flight, or so many a second.
import { now, percentile, sleep } from '../lib/figures.mjs';
import { watchStalls } from '../lib/stalls.mjs';
import { windowed } from '../lib/windowed.mjs';

/** What `work` returns, with the seconds it took, the processor's seconds that this process used, and its stalls. */
export async function timed(work) {
  const endWatch = await watchStalls();
  const cpu = process.cpuUsage();
  const began = now();
  const result = await work();
  const secs = (now() - began) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  return { ...result, secs, cpu: (user + system) / 1e6, stalls: await endWatch() };
}

const inputOf = (i) => ({ i });

/** n sagas from start to outcome, as many in flight as the window has places. Times are in ms, one for each. */
export function closedLoop(service, saga, { n, window = 1_000, input = inputOf }) {
  return timed(async () => {
    const times = [];
    await windowed(0, n, window, async (i) => {
      const began = now();
      const handle = await service.start(saga, input(i));
      await handle.outcome();
      times.push(now() - began);
    });
    return { n, times };
  });
}

/**
 * Sagas that arrive by chance, so many a second, whether or not those before are finished. A time counts from when the
 * saga was due to arrive, so that a sender that was held up hides nothing.
 * @param random numbers from 0 up to 1
 * @param goesOn until when; called with the ms gone by
 * @param send runs one saga, from start to outcome
 */
export function openLoop(service, saga, { rate, goesOn, random, keepTimes = true, send }) {
  const run = send ?? (async (i) => (await service.start(saga, inputOf(i))).outcome());
  return timed(async () => {
    const times = [];
    const pending = new Set();
    const one = async (i, due) => {
      await run(i);
      if (keepTimes) times.push(now() - due);
    };
    const began = now();
    let n = 0;
    for (let due = began; goesOn(due - began); due += (-Math.log(1 - random()) * 1_000) / rate) {
      while (now() < due) await sleep(Math.max(0, due - now()));
      const under = one(n++, due).finally(() => pending.delete(under));
      pending.add(under);
    }
    const sent = (now() - began) / 1_000;
    await Promise.all(pending);
    return { n, times, sent };
  });
}

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const latencies = (times) => ({
  p50_ms: percentile(times, 0.5),
  p99_ms: percentile(times, 0.99),
  p999_ms: percentile(times, 0.999),
});
