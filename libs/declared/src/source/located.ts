import type { Place } from '../declared-saga.error.js';

/** A value of a file, with its position. A map keeps the order of the file. */
export type Located = LocatedMap | LocatedList | LocatedScalar;

export interface LocatedMap {
  readonly kind: 'map';
  readonly at: Place;
  readonly entries: readonly LocatedEntry[];
}

export interface LocatedEntry {
  readonly key: string;
  readonly at: Place;
  readonly value: Located;
}

export interface LocatedList {
  readonly kind: 'list';
  readonly at: Place;
  readonly items: readonly Located[];
}

export interface LocatedScalar {
  readonly kind: 'scalar';
  readonly at: Place;
  readonly value: string | number | boolean | null;
}

export function entryOf(node: Located, key: string): LocatedEntry | undefined {
  return node.kind === 'map' ? node.entries.find((entry) => entry.key === key) : undefined;
}

/** Returns the value without its positions. */
export function plainOf(node: Located): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainOf);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plainOf(value)]));
}

/** Returns where the last key of a path is, or the last key before it that exists. */
export function placeOf(root: Located, path: readonly string[]): Place {
  let place = root.at;
  let node: Located = root;
  for (const key of path) {
    const entry = entryOf(node, key);
    if (!entry) break;
    place = entry.at;
    node = entry.value;
  }
  return place;
}

/** A value as a message shows its kind: `a list`, `'10s'`. */
export function shownKind(node: Located): string {
  if (node.kind === 'map') return 'a map';
  if (node.kind === 'list') return 'a list';
  const { value } = node;
  if (value === null) return 'empty';
  return typeof value === 'string'
    ? `'${value.length > 60 ? `${value.slice(0, 60)}…` : value}'`
    : String(value);
}
