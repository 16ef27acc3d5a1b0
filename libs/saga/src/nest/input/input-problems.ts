import { cut } from '../../shared/shown-value.js';
import { stepOfPath } from '../../shared/value-path.js';

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

/** What messages have in the place of a value. */
const HIDDEN = '…';
/** Parts of a value that are looked for in a message. */
const MOST_PARTS = 1_000;
/** A shorter text or number is found in too many words by chance; it is hidden where it stands in quotes. */
const SHORTEST = 4;
/** How arktype and valibot end a message, which shows the value, and only this part does. */
const SHOWN_BY_LIBRARIES = [/ \(was [^]*\)$/, / but received (?!undefined$|null$|Object$|Array$)[^]*$/];

/** A message about a value, without the value: what libraries show of it by themselves, and its texts and numbers. */
export function messageWithoutValue(message: string, value: unknown): string {
  const general = SHOWN_BY_LIBRARIES.reduce((text, shown) => text.replace(shown, ''), message);
  const parts = [...new Set(partsOf(value))].sort((a, b) => b.length - a.length);
  return parts.reduce((text, part) => hidden(text, part), general);
}

function hidden(text: string, part: string): string {
  const quoted = [JSON.stringify(part), `'${part}'`, `\`${part}\``];
  const rest = quoted.reduce((changed, shown) => changed.replaceAll(shown, HIDDEN), text);
  return part.length >= SHORTEST ? rest.replaceAll(part, HIDDEN) : rest;
}

/** The texts and numbers of a value, as a message would show them. */
function partsOf(value: unknown): string[] {
  const parts: string[] = [];
  const left: unknown[] = [value];
  try {
    for (let looked = 0; left.length > 0 && looked < MOST_PARTS; looked += 1) {
      const part = left.pop();
      if (typeof part === 'string' && part !== '') parts.push(part);
      else if (typeof part === 'number' || typeof part === 'bigint') parts.push(String(part));
      else if (typeof part === 'object' && part !== null)
        for (const inner of (Object.values(part) as unknown[]).slice(0, MOST_PARTS)) left.push(inner);
    }
  } catch {
    // A proxy, or a getter that throws: the validator has not read it either.
  }
  return parts;
}
