/** Statements that lock many rows lock them in one order, so that none waits for another in a circle. */
export function inLockOrder<T extends { readonly id: string }>(rows: readonly T[]): T[] {
  return [...rows].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}
