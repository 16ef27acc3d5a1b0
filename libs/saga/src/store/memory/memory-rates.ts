import type { RateRequest, Reservation } from '../../engine/ports/saga-store.js';
import { limitKey } from './memory-step-slots.js';

/** A time that a rate limit has given out. */
export interface Given {
  readonly at: number;
  /** The saga that was to begin then, or an attempt of it. */
  readonly holder?: string;
  /** The time was not in the future. */
  readonly isUsed: boolean;
}

/** The times that rate limits have given out. */
export class MemoryRates {
  constructor(
    /** Whether a saga waits for a time, by what is stored of it. */
    private readonly waits: (id: string, at: number) => boolean,
    /** By limit, in the order of the times. They are kept here. */
    private readonly reserved = new Map<string, readonly Given[]>(),
  ) {}

  reserve(limit: RateRequest, attempts: number, now: number): Reservation {
    const { count, per, ahead = 0, holder } = limit;
    const key = limitKey(limit);
    let given = this.kept(this.reserved.get(key) ?? [], limit, now);
    const times = Array.from({ length: attempts }, () => {
      let at = now + ahead;
      for (
        let again: number | undefined = at;
        again !== undefined;
        again = latestWindow(given, at, count, per)
      )
        at = again;
      given = [...given, { at, holder, isUsed: at <= now }].sort((a, b) => a.at - b.at);
      return at;
    });
    this.reserved.set(key, given);
    return { times, now };
  }

  /** Without the times of sagas that do not wait for them or let them pass, and those that are over. */
  private kept(
    given: readonly Given[],
    { per, count, holder, unused = [] }: RateRequest,
    now: number,
  ): readonly Given[] {
    const passed = [...unused];
    const wanted = given.flatMap((one) => {
      const n = one.holder === holder ? passed.indexOf(one.at) : -1;
      if (n >= 0) {
        passed.splice(n, 1);
        return [];
      }
      if (one.isUsed) return { ...one, at: Math.min(one.at, now) };
      return one.at <= now || one.holder === undefined || this.waits(one.holder, one.at) ? one : [];
    });
    const sorted = wanted.sort((a, b) => a.at - b.at);
    const first = sorted.findIndex(({ at }) => at > now - per);
    return sorted.slice(Math.max(0, first < 0 ? sorted.length - count : first - count));
  }
}

/** The first time after this one at which the windows that are full around it are over. Undefined: none is. */
function latestWindow(given: readonly Given[], time: number, count: number, per: number): number | undefined {
  const near = given.filter(({ at }) => at > time - per && at < time + per);
  const full = near.filter((one, n) => n + count <= near.length && near[n + count - 1]!.at - one.at < per);
  const last = full.at(-1);
  return last && Math.max(last.at + per, time + Number.EPSILON * time);
}
