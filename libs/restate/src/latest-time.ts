import type { ObjectContext } from '@restatedev/restate-sdk';
import { textOf } from './stored-text.js';

/** How far (ms) the clocks of processes, with the time of a call, may be apart. */
const CLOCKS_DIFFER = 60_000;

/**
 * Returns the time of a call. Calls of several processes come in another order than their times, by which a window would be
 * shorter, or what has come would be to come. Later ones count from the latest, unless that is far ahead: then the clock was set
 * back.
 */
export async function timeOf(ctx: ObjectContext, now: number): Promise<number> {
  const latest = (await ctx.get('latest', textOf<number>())) ?? 0;
  const time = latest - now > CLOCKS_DIFFER ? now : Math.max(now, latest);
  ctx.set('latest', time, textOf<number>());
  return time;
}
