/** Formats numbers and times for display. */
/** @type {[string, number][]} */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** `3.4ms`, `2.5s`, `4m 10s`, `2d 4h`: two units at most, as `durationText` of the package writes them. */
export function duration(ms) {
  if (ms === undefined || ms === null) return '–';
  if (ms < 10) return `${Math.round(ms * 10) / 10}ms`;
  if (Math.round(ms) < 1_000) return `${Math.round(ms)}ms`;
  if (Math.round(ms) < 60_000) return `${Math.round(ms / 100) / 10}s`;
  let rest = Math.round(ms);
  const parts = UNITS.flatMap(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count > 0 ? [`${count}${unit}`] : [];
  });
  return parts.slice(0, 2).join(' ');
}

/** `3m 20s ago`, `in 5s`. */
export function ago(time, now = Date.now()) {
  const ms = now - new Date(time).getTime();
  if (Math.abs(ms) < 1_000) return 'now';
  const text = duration(Math.floor(Math.abs(ms) / 1_000) * 1_000);
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

/** Formats a time in the time zone of the browser, without the date if it is today. */
export function clock(time, now = new Date()) {
  const date = new Date(time);
  /** @type {Intl.DateTimeFormatOptions} */
  const exact = { hour: '2-digit', minute: '2-digit', second: '2-digit' };
  return date.toDateString() === now.toDateString()
    ? date.toLocaleTimeString(undefined, exact)
    : date.toLocaleString(undefined, { ...exact, month: 'short', day: 'numeric' });
}

export function exact(time) {
  return new Date(time).toISOString();
}

export function count(number) {
  return number.toLocaleString();
}

export function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? '' : 's'}`;
}

/** `compensation_failed` → `compensation failed`. */
export function words(name) {
  return name.replaceAll('_', ' ').replaceAll('-', ' ');
}

/** `handler:stock.reserve` → `stock.reserve`. */
export function sagaName(name) {
  return name.startsWith('handler:') ? `${name.slice('handler:'.length)} (handler)` : name;
}

/** The milliseconds from one time to another. */
export function msBetween(from, to) {
  return new Date(to).getTime() - new Date(from).getTime();
}
