const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000 } as const;

/** `3.4ms`, `340ms`, `2.5s`, `4m 10s`, `3h 5m`, `2d 4h`: two units are enough to know. format.js of the dashboard has the same. */
export function durationText(milliseconds: number): string {
  const ms = Math.max(0, milliseconds);
  if (ms < 10) return `${Math.round(ms * 10) / 10}ms`;
  if (Math.round(ms) < 1_000) return `${Math.round(ms)}ms`;
  if (Math.round(ms) < 60_000) return `${Math.round(ms / 100) / 10}s`;
  let rest = Math.round(ms);
  const parts = Object.entries(UNITS).flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.slice(0, 2).join(' ');
}

/** `4m 10s ago`, `in 20s`. */
export function fromNow(time: Date, now: number): string {
  const ago = now - time.getTime();
  return ago >= 0 ? `${durationText(ago)} ago` : `in ${durationText(-ago)}`;
}
