/** The name that is most like the one that was written, if one is so near that it may be meant. */
export function nearestName(written: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  // A third of the letters may differ, and one in any case: enough for a slip, too few for another word.
  let least = Math.max(written.length > 1 ? 1 : 0, Math.floor(written.length / 3)) + 1;
  for (const name of names) {
    // Names that differ in length by more need not be compared, however long they are.
    if (Math.abs(name.length - written.length) >= least) continue;
    const distance = editDistance(written.toLowerCase(), name.toLowerCase());
    if (distance < least) [nearest, least] = [name, distance];
  }
  return nearest;
}

/** The fix of an unknown name: the name that may be meant, or else another text. */
export function suggestion(written: string, names: Iterable<string>, otherwise: string): string {
  const nearest = nearestName(written, names);
  return nearest === undefined ? otherwise : `Did you mean '${nearest}'?`;
}

/** Letters to insert, delete, replace, or swap with the next one (Damerau, 1964, without overlaps), row by row. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwapped && row > 1 && column > 1 ? before[column - 2]! + 1 : Infinity;
      current.push(Math.min(replaced, swapped, current[column - 1]! + 1, above[column]! + 1));
    }
    [before, above] = [above, current];
  }
  return above[b.length]!;
}
