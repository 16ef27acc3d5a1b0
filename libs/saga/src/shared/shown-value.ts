import { inspect } from 'node:util';

const LONGEST = 200;

/** Any value as a message may show it: on one line, not for ever, and whatever its getters and traps would do. */
export function shown(value: unknown): string {
  let text: string;
  try {
    text = inspect(typeof value === 'string' ? value.slice(0, LONGEST + 1) : value, {
      depth: 1,
      breakLength: Infinity,
      customInspect: false,
      maxArrayLength: 10,
      maxStringLength: LONGEST,
    });
  } catch {
    text = typeof value;
  }
  return cut(text.replaceAll('\0', '\u2400'), LONGEST);
}

/** The beginning of a text, so many characters of it at most; what no database stores is replaced. */
export function cut(text: string, longest: number): string {
  // Cutting may split a surrogate pair once more.
  return text.length <= longest ? text.toWellFormed() : `${text.slice(0, longest).toWellFormed()}…`;
}
