import { UsageError } from '../command.js';
import { readPair } from '../values.js';

/** Names that lead out of the object. */
const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/**
 * Sets fields of an input: `card.number=4242`. A value is JSON, or otherwise a text.
 * @throws UsageError if a field is inside something that is not an object
 */
export function withFields(input: unknown, written: readonly string[]): unknown {
  if (written.length === 0) return input;
  const whole = { input };
  for (const one of written) {
    const [path, value] = readPair(one, 'set');
    setField(whole, ['input', ...path.split('.')], valueOf(value), path);
  }
  return whole.input;
}

function setField(whole: object, names: readonly string[], value: unknown, path: string): void {
  let inside = whole as Record<string, unknown>;
  names.forEach((name, n) => {
    if (name === '' || UNSAFE.includes(name)) throw new UsageError(`--set '${path}' is not a path of names`);
    if (n === names.length - 1) return void (inside[name] = value);
    const next = (inside[name] ??= {});
    if (typeof next !== 'object' || Array.isArray(next))
      throw new UsageError(
        `--set '${path}': ${names.slice(1, n + 1).join('.') || 'the input'} is not an object`,
      );
    inside = next as Record<string, unknown>;
  });
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
