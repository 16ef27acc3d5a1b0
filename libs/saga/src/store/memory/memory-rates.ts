import type { RateLimit, Reservation } from '../../engine/ports/saga-store.js';

/** The times that rate limits have given out. */
export class MemoryRates {
  /** By limit, the last times. */
  private readonly reserved = new Map<string, number[]>();

  reserve(
    { saga, step, key: of, count, per, ahead = 0 }: RateLimit,
    attempts: number,
    now: number,
  ): Reservation {
    const key = JSON.stringify([saga, step, of]);
    const kept = [...(this.reserved.get(key) ?? [])];
    const times = Array.from({ length: attempts }, () => {
      const allowed = kept.length < count ? now : kept.at(-count)! + per;
      const time = Math.max(now + ahead, kept.at(-1) ?? now, allowed);
      kept.push(time);
      return time;
    });
    this.reserved.set(key, kept.slice(-count));
    return { times, now };
  }
}
