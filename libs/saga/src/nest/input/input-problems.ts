import { cut } from '../../shared/shown-value.js';
import { stepOfPath } from '../../shared/value-path.js';
import { messageWithoutValue } from './redact-message.js';

/** Something that is wrong with an input, and where in it. */
export interface InputProblem {
  readonly path: readonly PropertyKey[];
  /** The message of the validator, which may show the value. */
  readonly message: string;
}

/** Places in the input that a message names; of the others it says how many there are. */
const MOST_SHOWN = 10;
/** Characters of what is said of one place. */
const LONGEST = 200;

/** What is wrong, place by place, without a value of the input: it may be secret, and messages end up in logs. */
export function textOfInputProblems(problems: readonly InputProblem[], input: unknown): string {
  const byPath = new Map<string, string[]>();
  for (const { path, message } of problems) {
    const where = `input${path.map(keyOf).join('')}`;
    const said = messageWithoutValue(message, valueAt(input, path)).replace(/\.$/, '');
    byPath.set(where, [...(byPath.get(where) ?? []), said]);
  }
  const shown = [...byPath].slice(0, MOST_SHOWN);
  const texts = shown.map(([where, said]) => `${where}: ${cut(said.join(', '), LONGEST)}`);
  const more = byPath.size - shown.length;
  return texts.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

function keyOf(key: PropertyKey): string {
  return stepOfPath(typeof key === 'symbol' ? String(key) : key);
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  try {
    return path.reduce((value, key) => (value as Record<PropertyKey, unknown>)[key], input);
  } catch {
    // There is nothing at this path, or a getter throws.
    return undefined;
  }
}
