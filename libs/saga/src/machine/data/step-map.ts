import { indexOfKey, itemKey, stepOfKey } from '../../definition/graph/saga-graph.js';
import { changeStep, type StepState } from '../saga-state.js';
import { kindOf, TIMED } from './step-kinds.js';
import { StepTree } from './step-tree.js';

/** Fewer steps than this are a Map, if none of them is an item: to copy them all costs less than anything else. */
const SMALL = 64;

type Steps = ReadonlyMap<string, StepState>;
type Entry = readonly [string, StepState];

/** The numbers of steps by name, in the order in which something first happened to them. They only grow, so maps share them. */
class Names {
  private readonly numbers = new Map<string, number>();
  readonly list: string[] = [];

  numberOf(name: string): number | undefined {
    return this.numbers.get(name);
  }

  added(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    this.numbers.set(name, this.list.length);
    return this.list.push(name) - 1;
  }
}

/**
 * The states of many steps and items. An event of one among 100,000 copies a few branches of a tree, and not all; and who
 * asks what is left to do, or what changed, is led to it by the tree. Steps come first, then the items of each fan-out in
 * their order.
 */
export class StepMap implements ReadonlyMap<string, StepState> {
  private constructor(
    private readonly names: Names,
    private readonly own: StepTree,
    /** By the name of the fan-out. */
    private readonly items: ReadonlyMap<string, StepTree>,
  ) {}

  /** These with one changed. */
  static with(steps: Steps, key: string, step: StepState): Steps {
    if (steps instanceof StepMap) return steps.with(key, step);
    const isItem = key.endsWith(']');
    if (steps.size < SMALL && !isItem) return new Map(steps).set(key, step);
    return StepMap.of(steps).with(key, step);
  }

  static of(steps: Iterable<Entry>): StepMap {
    if (steps instanceof StepMap) return steps;
    const builder = new StepMapBuilder();
    for (const [key, step] of steps) builder.add(key, step);
    return builder.buildLarge();
  }

  /** For the builder. */
  static made(names: readonly string[], own: StepTree, items: ReadonlyMap<string, StepTree>): StepMap {
    const known = new Names();
    for (const name of names) known.added(name);
    return new StepMap(known, own, items);
  }

  get size(): number {
    let { size } = this.own;
    for (const tree of this.items.values()) size += tree.size;
    return size;
  }

  private with(key: string, step: StepState): StepMap {
    const index = indexOfKey(key);
    if (index === undefined)
      return new StepMap(this.names, this.own.with(this.names.added(key), step), this.items);
    const name = stepOfKey(key);
    const items = new Map(this.items).set(name, this.itemsOf(name).with(index, step));
    return new StepMap(this.names, this.own, items);
  }

  get(key: string): StepState | undefined {
    const index = indexOfKey(key);
    if (index !== undefined) return this.items.get(stepOfKey(key))?.get(index);
    const number = this.names.numberOf(key);
    return number === undefined ? undefined : this.own.get(number);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  itemsOf(name: string): StepTree {
    return this.items.get(name) ?? StepTree.EMPTY;
  }

  *entries(): MapIterator<[string, StepState]> {
    for (const [name, step] of this.ownEntries()) yield [name, step];
    for (const [name, tree] of this.items)
      for (const [index, step] of tree.entries()) yield [itemKey(name, index), step];
  }

  [Symbol.iterator](): MapIterator<[string, StepState]> {
    return this.entries();
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<StepState> {
    for (const [, step] of this.own.entries()) yield step;
    for (const tree of this.items.values()) for (const [, step] of tree.entries()) yield step;
  }

  forEach(visit: (step: StepState, key: string, map: Steps) => void): void {
    for (const [key, step] of this.entries()) visit(step, key, this);
  }

  /** Steps, without items, of some kinds. */
  ownOf(kinds: number): Entry[] {
    return found(this.own, kinds, Infinity, (number) => this.names.list[number]!);
  }

  /** Steps and items of some kinds; of those that wait for a time only those that are due by `dueBy`. */
  of(kinds: number, dueBy: number): Entry[] {
    const entries = found(this.own, kinds, dueBy, (number) => this.names.list[number]!);
    for (const [name, tree] of this.items)
      entries.push(...found(tree, kinds, dueBy, (index) => itemKey(name, index)));
    return entries;
  }

  /** The names of the steps of which the step, or an item, is so. */
  namesOf(kinds: number, is: (step: StepState) => boolean): string[] {
    const names = this.ownOf(kinds).flatMap(([name, step]) => (is(step) ? [name] : []));
    for (const [name, tree] of this.items) {
      const isOne = (_: number, step?: StepState) => step !== undefined && is(step);
      if (tree.search(tree.length, (part) => (part.kinds & kinds) !== 0, isOne)) names.push(name);
    }
    return names;
  }

  /** What differs from an earlier state; undefined: that is of another saga, or of another load of this one. */
  changesSince(before: Steps): [string, StepState][] | undefined {
    if (!(before instanceof StepMap) || before.names !== this.names) return undefined;
    const changes = this.own
      .changesSince(before.own)
      .map(([number, step]): [string, StepState] => [this.names.list[number]!, step]);
    for (const [name, tree] of this.items)
      for (const [index, step] of tree.changesSince(before.itemsOf(name)))
        changes.push([itemKey(name, index), step]);
    return changes;
  }

  /** What all states of a saga share from one load on, and those of no other. */
  get lineage(): object {
    return this.names;
  }

  /** Steps, without items. */
  *ownEntries(): Generator<Entry> {
    for (const [number, step] of this.own.entries()) yield [this.names.list[number]!, step];
  }

  /** What differs from an earlier state, without items; undefined: it is not an earlier one. */
  ownChangesSince(before: StepMap): Entry[] | undefined {
    if (before.names !== this.names) return undefined;
    const changes = this.own.changesSince(before.own);
    const added = changes.filter(([number]) => before.own.get(number) === undefined).length;
    if (before.own.size + added !== this.own.size) return undefined;
    return changes.map(([number, step]) => [this.names.list[number]!, step]);
  }

  /** With all of some kinds changed. */
  map(kinds: number, change: (step: StepState, key: string) => StepState): StepMap {
    const own = this.own.map(kinds, (number, step) => change(step, this.names.list[number]!));
    const items = new Map<string, StepTree>();
    for (const [name, tree] of this.items)
      items.set(
        name,
        tree.map(kinds, (index, step) => change(step, itemKey(name, index))),
      );
    const isSame = own === this.own && [...items].every(([name, tree]) => this.items.get(name) === tree);
    return isSame ? this : new StepMap(this.names, own, items);
  }
}

function found(tree: StepTree, kinds: number, dueBy: number, keyOf: (n: number) => string): Entry[] {
  const entries: Entry[] = [];
  tree.search(
    tree.length,
    (part) => (part.kinds & kinds & ~TIMED) !== 0 || ((part.kinds & kinds) !== 0 && part.dueAt <= dueBy),
    (number, step) => {
      const kind = kindOf(step);
      if (kind & kinds && (!(kind & TIMED) || step!.retryAt! <= dueBy)) entries.push([keyOf(number), step!]);
    },
  );
  return entries;
}

/** Makes a map of many steps, a few at a time if need be. */
export class StepMapBuilder {
  private readonly names: string[] = [];
  private readonly own: StepState[] = [];
  private readonly items = new Map<string, (StepState | undefined)[]>();

  add(key: string, step: StepState): void {
    const index = indexOfKey(key);
    if (index === undefined) {
      this.names.push(key);
      this.own.push(step);
      return;
    }
    const name = stepOfKey(key);
    let items = this.items.get(name);
    if (!items) this.items.set(name, (items = []));
    while (items.length < index) items.push(undefined);
    items[index] = step;
  }

  /** A map that suits their number. */
  build(): Steps {
    const steps = this.buildLarge();
    return steps.size < SMALL ? new Map(steps) : steps;
  }

  buildLarge(): StepMap {
    const items = new Map([...this.items].map(([name, steps]) => [name, StepTree.of(steps)]));
    return StepMap.made(this.names, StepTree.of(this.own), items);
  }
}

/**
 * Steps and items, those of some kinds at least, and of those that wait for a time those that are due by `dueBy`. Few steps
 * are all given: the kinds save a search of many.
 */
export function stepsOfKinds(steps: Steps, kinds: number, dueBy = Infinity): Iterable<Entry> {
  return steps instanceof StepMap ? steps.of(kinds, dueBy) : steps;
}

/** Returns the steps of these kinds without their items. */
export function ownStepsOfKinds(steps: Steps, kinds: number): Iterable<Entry> {
  return steps instanceof StepMap ? steps.ownOf(kinds) : steps;
}

/** The names of the steps of which the step, or an item, is so: all that are, are of these kinds. */
export function namesOfKinds(steps: Steps, kinds: number, is: (step: StepState) => boolean): string[] {
  if (steps instanceof StepMap) return steps.namesOf(kinds, is);
  const names: string[] = [];
  for (const [key, step] of steps) if (is(step)) names.push(stepOfKey(key));
  return names;
}

/** The steps and items whose state is another than before. */
export function changedSteps(before: Steps, after: Steps): [string, StepState][] {
  const changes = after instanceof StepMap ? after.changesSince(before) : undefined;
  return changes ?? [...after].filter(([key, step]) => before.get(key) !== step);
}

/** The items of a fan-out to which something has happened, by their indexes. */
export function itemsOf(steps: Steps, name: string): StepTree {
  return (steps instanceof StepMap ? steps : StepMap.of(steps)).itemsOf(name);
}

/** All of some kinds changed; the others are as they were. Itself, if that changes none. */
export function mapOfKinds(
  steps: Steps,
  kinds: number,
  change: (step: StepState, key: string) => StepState,
): Steps {
  if (steps instanceof StepMap) return steps.map(kinds, change);
  let changed: Map<string, StepState> | undefined;
  for (const [key, step] of steps) {
    const after = kindOf(step) & kinds ? change(step, key) : step;
    if (after !== step) (changed ??= new Map(steps)).set(key, after);
  }
  return changed ?? steps;
}

/**
 * The keys of the steps and items whose stored state differs. A copy with equal content does not differ, and `active` is not
 * stored.
 */
export function differingSteps(
  before: ReadonlyMap<string, StepState>,
  after: ReadonlyMap<string, StepState>,
): string[] {
  return changedSteps(before, after)
    .filter(([key, step]) => !isEqual(stored(before.get(key)), stored(step)))
    .map(([key]) => key);
}

function stored(step: StepState | undefined): StepState | undefined {
  return step && changeStep(step, { active: false });
}

/** Compares plain objects and arrays. A property that is undefined equals one that is absent. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(a[key], b[key]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
