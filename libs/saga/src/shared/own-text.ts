/**
 * A part of a text, as a text of its own. V8's `slice` only refers to the whole text, which then stays in memory for as long
 * as the part. But it flattens first what was put together, and refers to that.
 */
export function ownText(part: string): string {
  return ` ${part}`.slice(1);
}
