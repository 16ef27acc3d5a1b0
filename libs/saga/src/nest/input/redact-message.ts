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
