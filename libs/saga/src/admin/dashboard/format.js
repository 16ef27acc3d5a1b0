/** Formats numbers and times for display. */
const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** `1.2 s`, `3 m 20 s`, `2 d 4 h`: two units at most. */
export function duration(ms) {
  if (ms === undefined || ms === null) return '–';
  if (ms < 1_000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const largest = UNITS.findIndex(([, length]) => ms >= length);
  const [unit, length] = UNITS[largest];
  const [next, nextLength] = UNITS[largest + 1] ?? [];
  const rest = next ? Math.floor((ms % length) / nextLength) : 0;
  return `${Math.floor(ms / length)} ${unit}${rest > 0 ? ` ${rest} ${next}` : ''}`;
}

/** `3 m 20 s ago`, `in 5 s`. */
export function ago(time, now = Date.now()) {
  const ms = now - new Date(time).getTime();
  if (Math.abs(ms) < 1_000) return 'now';
  const text = duration(Math.floor(Math.abs(ms) / 1_000) * 1_000).replace('.0 s', ' s');
  return ms < 0 ? `in ${text}` : `${text} ago`;
}

/** Formats a time in the time zone of the browser, without the date if it is today. */
export function clock(time, now = new Date()) {
  const date = new Date(time);
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
