import type { StepState } from '../saga-state.js';
import { kindOf, KIND, TIMED } from './step-kinds.js';

/** A branch has 2^BITS parts. */
const BITS = 5;
const WIDTH = 1 << BITS;

type Slot = Branch | StepState | undefined;

/** What takes the place of another item. */
const IN_PROGRESS = KIND.active | KIND.queued;

/** What a search needs to know of a part of the tree before it looks into it. */
export interface Part {
  /** The kinds of what is in it, together. */
  readonly kinds: number;
  /** The earliest time that something in it waits for; Infinity: nothing does. */
  readonly dueAt: number;
}

/** Nothing has happened to any of it. */
const MISSING: Part = { kinds: KIND.missing, dueAt: Infinity };

/** A part of a tree; it never changes, and is shared by all the trees that have it. */
class Branch implements Part {
  /** 0: not counted yet. A branch of nothing but missing steps has a kind, too. */
  private summed = 0;
  private earliest = Infinity;
  private inProgress = 0;

  constructor(
    readonly slots: readonly Slot[],
    /** 0: its slots are steps. */
    readonly level: number,
  ) {}

  get kinds(): number {
    if (this.summed === 0) this.sum();
    return this.summed;
  }

  get dueAt(): number {
    if (this.summed === 0) this.sum();
    return this.earliest;
  }

  /** The number of steps of which an attempt is in progress, or waits for a slot. */
  get active(): number {
    if (this.summed === 0) this.sum();
    return this.inProgress;
  }

  private sum(): void {
    let kinds = 0;
    for (let n = 0; n < WIDTH; n += 1) {
      const slot = this.slots[n];
      if (slot === undefined) kinds |= KIND.missing;
      else if (this.level > 0) kinds |= this.sumBranch(slot as Branch);
      else kinds |= this.sumStep(slot as StepState);
    }
    this.summed = kinds;
  }

  private sumBranch(branch: Branch): number {
    this.earliest = Math.min(this.earliest, branch.dueAt);
    this.inProgress += branch.active;
    return branch.kinds;
  }

  private sumStep(step: StepState): number {
    const kind = kindOf(step);
    if (kind & TIMED) this.earliest = Math.min(this.earliest, step.retryAt!);
    if (kind & IN_PROGRESS) this.inProgress += 1;
    return kind;
  }
}

type Entry = readonly [number, StepState];
/** True: into this part. */
type Wants = (part: Part) => boolean;
/** True: that is enough. */
type Look = (index: number, step: StepState | undefined) => boolean | void;

/**
 * The states of steps, or of the items of a fan-out, by number. A change copies the few branches on the way to it, and
 * what is left to do is found by what is known of each branch: the cost does not depend on how many steps there are.
 */
export class StepTree {
  static readonly EMPTY = new StepTree(new Branch([], 0), 0, 0);

  private constructor(
    private readonly root: Branch,
    /** One more than the highest number that something has happened to. */
    readonly length: number,
    /** The number of steps that something has happened to. */
    readonly size: number,
  ) {}

  /** @param steps by their numbers; those that nothing has happened to are undefined */
  static of(steps: readonly (StepState | undefined)[]): StepTree {
    let slots: Slot[] = [...steps];
    let level = 0;
    for (; ; level += 1) {
      const branches: Branch[] = [];
      for (let n = 0; n < slots.length; n += WIDTH)
        branches.push(new Branch(slots.slice(n, n + WIDTH), level));
      slots = branches;
      if (branches.length <= 1) break;
    }
    const size = steps.reduce((count, step) => count + Number(step !== undefined), 0);
    return size === 0 ? StepTree.EMPTY : new StepTree(slots[0] as Branch, steps.length, size);
  }

  get(index: number): StepState | undefined {
    if (index >= this.length) return undefined;
    let branch: Branch | undefined = this.root;
    for (let shift = branch.level * BITS; shift > 0 && branch; shift -= BITS)
      branch = branch.slots[(index >> shift) & (WIDTH - 1)] as Branch | undefined;
    return branch?.slots[index & (WIDTH - 1)] as StepState | undefined;
  }

  with(index: number, step: StepState): StepTree {
    let { root } = this;
    while (index >= 1 << ((root.level + 1) * BITS)) root = new Branch([root], root.level + 1);
    const size = this.size + Number(this.get(index) === undefined);
    return new StepTree(changed(root, index, step), Math.max(this.length, index + 1), size);
  }

  /** Is any of these kinds? */
  has(kinds: number): boolean {
    return (this.root.kinds & kinds) !== 0;
  }

  /** The number of steps before `limit` of which an attempt is in progress, or waits for a slot. */
  activeBefore(limit: number): number {
    if (limit >= this.length) return this.root.active;
    let active = 0;
    this.search(
      limit,
      ({ kinds }) => (kinds & IN_PROGRESS) !== 0,
      (_, step) => {
        if (kindOf(step) & IN_PROGRESS) active += 1;
      },
    );
    return active;
  }

  /**
   * Looks at all in the wanted parts, in order; what nothing has happened to is undefined.
   * @param limit not at this number, nor at higher ones
   * @returns whether `look` has found enough
   */
  search(limit: number, wants: Wants, look: Look): boolean {
    const within = Math.min(limit, this.length);
    if (within > 0 && searched(this.root, 0, within, wants, look)) return true;
    return missing(within, limit, wants, look);
  }

  *entries(): Generator<Entry> {
    yield* entriesOf(this.root, 0);
  }

  /** What differs from an earlier tree. */
  changesSince(before: StepTree): Entry[] {
    const found: Entry[] = [];
    let was = before.root;
    while (was.level < this.root.level) was = new Branch([was], was.level + 1);
    if (was.level === this.root.level) differing(was, this.root, 0, found);
    // Of a tree that is not its successor.
    else for (const entry of this.entries()) if (before.get(entry[0]) !== entry[1]) found.push(entry);
    return found;
  }

  /** With all of some kinds changed; the tree itself if that changes none of them. */
  map(kinds: number, change: (index: number, step: StepState) => StepState): StepTree {
    if (!this.has(kinds)) return this;
    const steps: (StepState | undefined)[] = [];
    let isSame = true;
    this.search(
      this.length,
      () => true,
      (index, step) => {
        const after = step && kindOf(step) & kinds ? change(index, step) : step;
        isSame &&= after === step;
        steps.push(after);
      },
    );
    return isSame ? this : StepTree.of(steps);
  }
}

function changed(branch: Branch, index: number, step: StepState): Branch {
  const { level } = branch;
  const slots = branch.slots.slice();
  const place = (index >> (level * BITS)) & (WIDTH - 1);
  // No holes: an array with holes is another kind of array to V8.
  while (slots.length < place) slots.push(undefined);
  if (level === 0) slots[place] = step;
  else {
    const part = (slots[place] as Branch | undefined) ?? new Branch([], level - 1);
    slots[place] = changed(part, index, step);
  }
  return new Branch(slots, level);
}

function searched(branch: Branch, from: number, limit: number, wants: Wants, look: Look): boolean {
  if (!wants(branch)) return false;
  const { level, slots } = branch;
  const width = 1 << (level * BITS);
  for (let n = 0; n < WIDTH; n += 1) {
    const start = from + n * width;
    if (start >= limit) return false;
    const slot = slots[n];
    if (level === 0) {
      if (look(start, slot as StepState | undefined)) return true;
    } else if (slot !== undefined) {
      if (searched(slot as Branch, start, limit, wants, look)) return true;
    } else if (missing(start, Math.min(limit, start + width), wants, look)) return true;
  }
  return false;
}

/** Asks for each whether it is still wanted: there may be many. */
function missing(from: number, to: number, wants: Wants, look: Look): boolean {
  for (let index = from; index < to && wants(MISSING); index += 1) if (look(index, undefined)) return true;
  return false;
}

function* entriesOf({ slots, level }: Branch, from: number): Generator<Entry> {
  for (let n = 0; n < slots.length; n += 1) {
    const slot = slots[n];
    const start = from + n * (1 << (level * BITS));
    if (slot === undefined) continue;
    if (level === 0) yield [start, slot as StepState];
    else yield* entriesOf(slot as Branch, start);
  }
}

function differing(before: Branch | undefined, after: Branch, from: number, found: Entry[]): void {
  if (before === after) return;
  const { slots, level } = after;
  for (let n = 0; n < slots.length; n += 1) {
    const [was, is] = [before?.slots[n], slots[n]];
    if (is === undefined || is === was) continue;
    const start = from + n * (1 << (level * BITS));
    if (level === 0) found.push([start, is as StepState]);
    else differing(was as Branch | undefined, is as Branch, start, found);
  }
}
