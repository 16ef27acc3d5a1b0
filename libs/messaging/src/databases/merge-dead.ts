import type { StoredDeadMessage } from 'nestjs-durable-saga/internal/runtime';

/**
 * Merges pages of dead messages, each oldest first, into one page. A page of a shard may be shorter than the limit, because
 * its bytes are bounded. Then the merged page ends with the last message of that one, so that the next page leaves out none.
 */
export function oldestDeadFirst(
  pages: readonly (readonly StoredDeadMessage[])[],
  limit: number,
): { readonly rows: StoredDeadMessage[]; readonly more: boolean } {
  const cut = pages.filter((page) => page.length === limit || page.at(-1)?.more);
  const ends = cut.map((page) => page.at(-1)!).sort(byAge);
  const all = pages.flat().sort(byAge);
  const end = ends[0] ? all.indexOf(ends[0]) + 1 : all.length;
  const rows = all.slice(0, Math.min(end, limit));
  return { rows, more: cut.length > 0 || rows.length < all.length };
}

function byAge(one: StoredDeadMessage, other: StoredDeadMessage): number {
  return (
    Number(one.deadAt) - Number(other.deadAt) ||
    compare(one.deadAtText, other.deadAtText) ||
    compare(one.id, other.id)
  );
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
