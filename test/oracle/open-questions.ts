import { type Book, type Relations, Rules } from './model-state.js';

/** Pivots with an unknown outcome among the steps that are rolled back. */
export function doubts(relations: Relations, book: Book): string[] {
  const rules = new Rules(relations, book);
  if (book.mode !== 'returning' && book.mode !== 'compensating') return [];
  const nodes = relations.nodes.filter((node) => rules.isInRegion(node.name) && rules.pivotInDoubt(node));
  return nodes
    .flatMap((node) => rules.keys(node))
    .filter((key) => rules.phase(key) === 'failed' && rules.life(key).unknown);
}

/** The random policies: 100 ms, doubled each time, a fifth of it left to chance. */
export function wait(failures: number, random: number): number {
  return Math.round(100 * 2 ** (failures - 1) * (1 - 0.2 * random));
}

export function permutations(keys: readonly string[]): string[][] {
  if (keys.length <= 1) return [[...keys]];
  return keys.flatMap((first) =>
    permutations(keys.filter((key) => key !== first)).map((rest) => [first, ...rest]),
  );
}
