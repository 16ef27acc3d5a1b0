import { indexOfKey, stepOfKey } from '../definition/graph/saga-graph.js';
import type { StepState } from './saga-state.js';

/** Up to so many steps and items, a copy of them all costs less than anything else. */
const SMALL = 64;

/** What of a fan-out's items is worth a look, by their indexes in order. */
interface ItemsToLookAt {
  /** Not done, or in progress; of those before `begun`. */
  readonly open: readonly number[];
  /** Something happened to them that was neither skipped nor compensated. */
  readonly standing: readonly number[];
  /** They wait for a time. */
  readonly timed: readonly number[];
  /** In progress. */
  readonly active: readonly number[];
  /** Nothing has happened to items from this index on. */
  readonly begun: number;
}

/**
 * The states of many steps and items: a base that never changes and is shared, and what differs from it. An event of one
 * item among 10,000 then copies some hundred entries and not all; and who asks what is left to do, or what changed, looks
 * at the differences and at what was left to do in the base. Made anew from time to time, when the differences have grown.
 */
export class StepMap implements ReadonlyMap<string, StepState> {
  private looked: Map<string, ItemsToLookAt> | undefined;

  private constructor(
    private readonly base: Base,
    private readonly delta: ReadonlyMap<string, StepState>,
    readonly size: number,
  ) {}

  /** These with one changed. */
  static with(
    steps: ReadonlyMap<string, StepState>,
    key: string,
    step: StepState,
  ): ReadonlyMap<string, StepState> {
    if (steps instanceof StepMap) return steps.with(key, step);
    if (steps.size < SMALL) return new Map(steps).set(key, step);
    return new StepMap(new Base(steps), new Map(), steps.size).with(key, step);
  }

  private with(key: string, step: StepState): StepMap {
    const size = this.has(key) ? this.size : this.size + 1;
    const delta = new Map(this.delta).set(key, step);
    if (delta.size * delta.size <= 4 * size) return new StepMap(this.base, delta, size);
    const steps = new Map(this.base.steps);
    for (const [name, state] of delta) steps.set(name, state);
    return new StepMap(new Base(steps), new Map(), size);
  }

  get(key: string): StepState | undefined {
    return this.delta.get(key) ?? this.base.steps.get(key);
  }

  has(key: string): boolean {
    return this.delta.has(key) || this.base.steps.has(key);
  }

  *entries(): MapIterator<[string, StepState]> {
    for (const entry of this.base.steps) {
      const changed = this.delta.get(entry[0]);
      yield changed ? [entry[0], changed] : entry;
    }
    for (const entry of this.delta) if (!this.base.steps.has(entry[0])) yield entry;
  }

  [Symbol.iterator](): MapIterator<[string, StepState]> {
    return this.entries();
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<StepState> {
    for (const [, step] of this.entries()) yield step;
  }

  forEach(visit: (step: StepState, key: string, map: ReadonlyMap<string, StepState>) => void): void {
    for (const [key, step] of this.entries()) visit(step, key, this);
  }

  /** Those that something is left to do of, or that an error is kept of; and others. */
  *unsettled(): Iterable<readonly [string, StepState]> {
    for (const key of this.base.unsettled) if (!this.delta.has(key)) yield [key, this.base.steps.get(key)!];
    yield* this.delta;
  }

  /** What differs from an earlier state; undefined: that is of another base. */
  changesSince(before: ReadonlyMap<string, StepState>): [string, StepState][] | undefined {
    if (!(before instanceof StepMap) || before.base !== this.base) return undefined;
    return [...this.delta].filter(([key, step]) => before.get(key) !== step);
  }

  itemsToLookAt(name: string): ItemsToLookAt {
    let found = this.looked?.get(name);
    if (!found) (this.looked ??= new Map()).set(name, (found = this.lookAt(name)));
    return found;
  }

  private lookAt(name: string): ItemsToLookAt {
    const known = this.base.itemsOf(name) ?? NO_ITEMS;
    const more: number[] = [];
    const prefix = itemPrefix(name);
    for (const key of this.delta.keys()) if (key.startsWith(prefix)) more.push(indexOfKey(key)!);
    if (more.length === 0) return known;
    more.sort((a, b) => a - b);
    const begun = Math.max(known.begun, more.at(-1)! + 1);
    // The item that ended first need not have begun first.
    const passed = Array.from({ length: begun - known.begun }, (_, n) => known.begun + n);
    return {
      open: merged(merged(known.open, more), passed),
      standing: merged(known.standing, more),
      timed: merged(known.timed, more),
      active: merged(known.active, more),
      begun,
    };
  }
}

/** What the keys of a step's items begin with. */
const itemPrefix = (name: string): string => `${name}[`;

const NO_ITEMS: ItemsToLookAt = { open: [], standing: [], timed: [], active: [], begun: 0 };

/** Two lists in order, as one. */
function merged(a: readonly number[], b: readonly number[]): readonly number[] {
  const all: number[] = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length;) {
    const next = j >= b.length || a[i]! <= b[j]! ? a[i++]! : b[j++]!;
    if (next !== all.at(-1)) all.push(next);
  }
  return all;
}

/** States that do not change, with what is left to do of them. */
class Base {
  private left: { readonly unsettled: string[]; readonly items: Map<string, ItemsToLookAt> } | undefined;

  constructor(readonly steps: ReadonlyMap<string, StepState>) {}

  get unsettled(): readonly string[] {
    return (this.left ??= leftOf(this.steps)).unsettled;
  }

  itemsOf(name: string): ItemsToLookAt | undefined {
    return (this.left ??= leftOf(this.steps)).items.get(name);
  }
}

type Mutable = { -readonly [K in keyof ItemsToLookAt]: ItemsToLookAt[K] extends number ? number : number[] };

function leftOf(steps: ReadonlyMap<string, StepState>) {
  const unsettled: string[] = [];
  const happened = new Map<string, Set<number>>();
  const items = new Map<string, Mutable>();
  for (const [key, step] of steps) {
    const isDone = step.status === 'completed' || step.status === 'skipped';
    if (step.active || !(isDone || step.status === 'compensated')) unsettled.push(key);
    const index = indexOfKey(key);
    if (index === undefined) continue;
    const name = stepOfKey(key);
    let of = items.get(name);
    if (!of) {
      items.set(name, (of = { open: [], standing: [], timed: [], active: [], begun: 0 }));
      happened.set(name, new Set());
    }
    happened.get(name)!.add(index);
    if (step.active || !isDone) of.open.push(index);
    if (step.active || (step.status !== 'skipped' && step.status !== 'compensated')) of.standing.push(index);
    if (step.retryAt !== undefined) of.timed.push(index);
    if (step.active) of.active.push(index);
    of.begun = Math.max(of.begun, index + 1);
  }
  for (const [name, { open, begun }] of items)
    for (let index = 0; index < begun; index += 1) if (!happened.get(name)!.has(index)) open.push(index);
  for (const { open, standing, timed, active } of items.values())
    for (const indexes of [open, standing, timed, active]) indexes.sort((a, b) => a - b);
  return { unsettled, items };
}

/** Those that something is left to do of, that wait, or failed permanently, among others that may be settled. */
export function unsettledSteps(
  steps: ReadonlyMap<string, StepState>,
): Iterable<readonly [string, StepState]> {
  return steps instanceof StepMap ? steps.unsettled() : steps;
}

/** The steps and items whose state is another than before. */
export function changedSteps(
  before: ReadonlyMap<string, StepState>,
  after: ReadonlyMap<string, StepState>,
): [string, StepState][] {
  const changes = after instanceof StepMap ? after.changesSince(before) : undefined;
  return changes ?? [...after].filter(([key, step]) => before.get(key) !== step);
}

/** The items of a fan-out that there may be something to do of. */
export function itemsToLookAt(
  steps: ReadonlyMap<string, StepState>,
  name: string,
  items: readonly string[],
): ItemsToLookAt {
  const found =
    steps instanceof StepMap ? steps.itemsToLookAt(name) : (leftOf(steps).items.get(name) ?? NO_ITEMS);
  // A round before may have had more items.
  return found.begun <= items.length ? found : within(found, items.length);
}

function within({ open, standing, timed, active }: ItemsToLookAt, count: number): ItemsToLookAt {
  const isThere = (index: number) => index < count;
  return {
    open: open.filter(isThere),
    standing: standing.filter(isThere),
    timed: timed.filter(isThere),
    active: active.filter(isThere),
    begun: count,
  };
}
