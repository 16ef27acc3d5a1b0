/** The operand of IN: names that need no escape, such as statuses. */
export function inList(names: readonly string[]): string {
  return `(${names.map((name) => `'${name}'`).join(', ')})`;
}
