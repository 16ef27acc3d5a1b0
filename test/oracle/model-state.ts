import type { SagaGraph, StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';

/**
 * The oracle's own book of a saga, kept from its history alone and by none of the machine's code. All that can
 * be derived is derived anew each time, by sets and walks over the graph: slow, and easy to see through.
 */
export interface Book {
  mode: 'running' | 'returning' | 'compensating' | 'stuck' | 'suspended' | 'over';
  /** While stuck or suspended: what it goes back to. */
  resting?: 'running' | 'returning' | 'compensating';
  /** While returning, or stuck in it: the savepoint. */
  target?: string;
  /** P4: it has to roll back (to this savepoint), and waits for the outcome of its pivots. */
  pending?: { readonly target?: string };
  round: number;
  /** Undefined: it has none, or an operator has sent it on. */
  deadline?: number;
  /** L1: when its rate limit lets it begin, or that it has begun. Undefined: it has no time yet. */
  turn?: { readonly at: number } | 'begun';
  readonly lives: Map<string, Life>;
  readonly pruned: Set<string>;
  /** The winners of joins any. */
  readonly winners: Map<string, string>;
  /** Steps that completed, in order. */
  completions: string[];
  /** By name: the number of the last signal that was taken. */
  readonly lastTaken: Map<string, number>;
  /** Over, and well: it may be undone after all. */
  completed?: boolean;
}

/** One step, or one item, in one round. */
export interface Life {
  phase:
    | 'idle'
    | 'running'
    /** Its saga goes on. */
    | 'away'
    | 'completed'
    | 'skipped'
    | 'failed'
    | 'undoing'
    | 'undone'
    | 'not undone';
  active: boolean;
  started: number;
  failures: number;
  unknown: boolean;
  undoFailures: number;
  retryAt?: number;
  delayed: boolean;
  /** The number of items of a fan-out, once known. */
  items?: number;
  result?: string;
  round: number;
  returns: number;
  /** The saga that a sub-saga step has started. */
  child?: { readonly id: string; readonly is: ChildIs };
  /** The wait for a signal: its deadline, and the number of the signal that it took. */
  wait?: { readonly until?: number; readonly number?: number };
  /** B6: its compensation was requested, and is done once it is confirmed; the time after which the attempt has failed. */
  reply?: { readonly until?: number };
  /** O1: it failed permanently, and the saga goes on without it. */
  continued?: boolean;
  /** C1: the slot of its next attempt, or of the one in progress; since when it has waited for it. C3: `freed`: it asks again. */
  slot?: { readonly is: 'awaited' | 'taken' | 'freed'; readonly since?: number; readonly key?: string };
}

/** `over`: it rolled back by itself, or was aborted. */
export type ChildIs = 'going on' | 'cancelled' | 'completed' | 'over' | 'being undone' | 'undone';

export function emptyBook(deadline: number | undefined): Book {
  return {
    mode: 'running',
    round: 1,
    deadline,
    lives: new Map(),
    pruned: new Set(),
    winners: new Map(),
    completions: [],
    lastTaken: new Map(),
  };
}

export function copyOf(book: Book): Book {
  return {
    ...book,
    lives: new Map([...book.lives].map(([key, life]) => [key, { ...life }])),
    pruned: new Set(book.pruned),
    winners: new Map(book.winners),
    completions: [...book.completions],
    lastTaken: new Map(book.lastTaken),
  };
}

/** The graph's relations, by walking it. */
export class Relations {
  readonly nodes: readonly StepNode[];
  private readonly next = new Map<string, readonly string[]>();
  private readonly below = new Map<string, ReadonlySet<string>>();

  constructor(readonly graph: SagaGraph) {
    this.nodes = [...graph.steps.values()];
    for (const { name } of this.nodes) {
      const after = this.nodes.filter((node) => node.after.includes(name));
      this.next.set(
        name,
        after.map((node) => node.name),
      );
    }
    for (const node of this.nodes)
      this.below.set(
        node.name,
        walk(node.name, (name) => this.dependents(name)),
      );
  }

  node(key: string): StepNode {
    return this.graph.steps.get(key) ?? this.graph.steps.get(key.slice(0, key.lastIndexOf('[')))!;
  }

  /** Those that wait for this one; not by the graph's own word for it. */
  dependents(name: string): readonly string[] {
    return this.next.get(name)!;
  }

  /** All that depend on it, directly or not. */
  descendants(name: string): ReadonlySet<string> {
    return this.below.get(name)!;
  }
}

function walk(from: string, next: (name: string) => readonly string[]): Set<string> {
  const reached = new Set<string>();
  const visit = (name: string): void => {
    for (const other of next(name)) {
      if (reached.has(other)) continue;
      reached.add(other);
      visit(other);
    }
  };
  visit(from);
  return reached;
}

/** What the rules say of a book. */
export class Rules {
  constructor(
    readonly of: Relations,
    readonly book: Book,
  ) {}

  life(key: string): Life {
    let life = this.book.lives.get(key);
    if (!life) {
      const step = this.of.node(key).name;
      life = {
        phase: 'idle',
        active: false,
        started: 0,
        failures: 0,
        unknown: false,
        undoFailures: 0,
        delayed: false,
        round: key === step ? 1 : this.life(step).round,
        returns: 0,
      };
      this.book.lives.set(key, life);
    }
    return life;
  }

  isPruned(name: string): boolean {
    return this.book.pruned.has(name);
  }

  /** The saga goes forward without it: it lost a join any (F7), or is optional and failed (O1). */
  isDropped(name: string): boolean {
    return this.isPruned(name) || this.life(name).continued === true;
  }

  /** Where attempts are made: the items of a fan-out that was asked, otherwise the step itself. */
  keys({ name }: StepNode): string[] {
    const { items } = this.life(name);
    return items === undefined ? [name] : Array.from({ length: items }, (_, index) => `${name}[${index}]`);
  }

  allKeys(): string[] {
    return this.of.nodes.flatMap((node) => this.keys(node));
  }

  isActive(node: StepNode): boolean {
    return this.keys(node).some((key) => this.life(key).active || this.isAwaited(key));
  }

  /** Another saga has to end first. */
  isAwaited(key: string): boolean {
    const { phase, child } = this.life(key);
    return phase === 'away' || (phase === 'undoing' && child?.is === 'being undone');
  }

  /** Its signal has not come: neither has it begun, nor is it done. */
  isWaiting({ name }: StepNode): boolean {
    const { phase, wait } = this.life(name);
    return phase === 'idle' && wait !== undefined && wait.number === undefined && !this.isPruned(name);
  }

  /** C1: it may begin once it has a slot. */
  awaitsSlot(key: string): boolean {
    const { phase, slot } = this.life(key);
    return phase === 'idle' && slot?.is === 'awaited';
  }

  /**
   * W1: who takes this signal: each once, those of one name in their order, the first step that waits for it.
   */
  takerOf(name: string, number: number): StepNode | undefined {
    const { mode, lastTaken } = this.book;
    if (number <= (lastTaken.get(name) ?? 0)) return undefined;
    if (mode === 'running') {
      const taker = this.of.nodes.find((node) => node.wait?.signal === name && this.isWaiting(node));
      if (taker) return taker;
    }
    if (mode !== 'running' && mode !== 'returning' && mode !== 'compensating') return undefined;
    return this.of.nodes.find(
      (node) => node.compensationReply?.signal === name && this.life(node.name).reply !== undefined,
    );
  }

  /**
   * L1, L2: how the saga stands with the rate limit of its name. A time that was given is good for a tenth of
   * the limit's window, from 50 ms to a second, or for a hundredth, up to half a minute; after that, the saga asks again.
   */
  turn(now: number): 'begun' | 'asks' | 'waits' | 'begins' {
    const { rateLimit } = this.of.graph;
    const { turn } = this.book;
    if (!rateLimit || turn === 'begun') return 'begun';
    if (!turn) return 'asks';
    if (now < turn.at) return 'waits';
    const { per } = rateLimit;
    const goodFor = Math.max(50, Math.min(1_000, per / 10), Math.min(30_000, per / 100));
    return now <= turn.at + goodFor ? 'begins' : 'asks';
  }

  anyActive(): boolean {
    return this.of.nodes.some((node) => this.isActive(node));
  }

  phase(name: string): Life['phase'] {
    return this.life(name).phase;
  }

  /** F1, F2. */
  isReady(node: StepNode): boolean {
    if (node.after.length === 0) return true;
    // O2: what waits for an optional step does not wait any more once that has failed.
    const isDone = (name: string) =>
      this.phase(name) === 'completed' || this.phase(name) === 'skipped' || this.life(name).continued;
    // What was lost is not done, also where it completed: after a return to a savepoint its join may be back.
    if (node.join === 'all') return node.after.every((name) => isDone(name) && !this.isPruned(name));
    const left = node.after.filter((name) => !this.isPruned(name));
    if (left.some((name) => this.phase(name) === 'completed')) return true;
    return (
      left.length > 0 && left.every((name) => this.phase(name) === 'skipped' || this.life(name).continued)
    );
  }

  /** F7: an edge that nothing comes through any more. */
  isDead(from: string, to: StepNode): boolean {
    if (this.isPruned(to.name)) return true;
    // What is returned behind decides nothing before it is gone through again.
    if (this.book.mode === 'returning' && this.isInRegion(to.name)) return false;
    const winner = this.book.winners.get(to.name);
    return to.join === 'any' && winner !== undefined && winner !== from;
  }

  /** F7: whom nothing needs any more, given those that are pruned. */
  unneeded(): StepNode | undefined {
    return this.of.nodes.find((node) => {
      const dependents = this.of.dependents(node.name);
      if (this.isPruned(node.name) || dependents.length === 0) return false;
      return dependents.every((name) => this.isDead(node.name, this.of.node(name)));
    });
  }

  /** F8: what would be pruned with a step that failed; undefined: an end of the saga would be among it. */
  tolerating(failed: string): string[] | undefined {
    const marks = new Set([...this.book.pruned, failed]);
    // Forward in topological order.
    for (const { name, after, join } of this.of.nodes) {
      if (after.length === 0) continue;
      const hit = join === 'all' ? after.some((one) => marks.has(one)) : after.every((one) => marks.has(one));
      if (hit) marks.add(name);
    }
    const fresh = [...marks].filter((name) => !this.isPruned(name));
    return fresh.some((name) => this.of.dependents(name).length === 0) ? undefined : fresh;
  }

  /** P1. */
  pivotPassed(): boolean {
    return this.of.nodes.some((node) => this.hasPassed(node));
  }

  /** Also of a loser, if its effect stays. */
  hasPassed(node: StepNode): boolean {
    if (!node.pivot || this.phase(node.name) !== 'completed') return false;
    return !this.isPruned(node.name) || !isCompensable(node);
  }

  /** P4: its outcome is unknown, and an attempt or a probe is about to find out. */
  isUndecided(node: StepNode): boolean {
    if (!node.pivot || (this.isPruned(node.name) && isCompensable(node))) return false;
    const { phase, unknown } = this.life(node.name);
    return phase === 'running' || phase === 'away' || (phase === 'idle' && unknown && !isCompensable(node));
  }

  /** P5: its outcome stays unknown until an operator decides. Until then nothing is compensated. */
  isBarred(node: StepNode): boolean {
    if (!node.pivot || isCompensable(node)) return false;
    return this.phase(node.name) === 'not undone' || this.pivotInDoubt(node);
  }

  /** P4: what a rollback concerns. */
  within(target: string | undefined): StepNode[] {
    return this.of.nodes.filter(({ name }) => target === undefined || this.of.descendants(target).has(name));
  }

  /** P2. */
  pivotInDoubt(node: StepNode): boolean {
    const doubt = this.keys(node).some((key) => this.phase(key) === 'failed' && this.life(key).unknown);
    return node.pivot && node.compensate === undefined && doubt;
  }

  /** S1: the last in topological order of the savepoints that apply. */
  savepointFor(failed: string): string | undefined {
    return this.of.nodes
      .filter(({ name, savepoint }) => {
        if (!savepoint || !this.of.descendants(name).has(failed)) return false;
        if (this.phase(name) !== 'completed' || this.isPruned(name)) return false;
        if (this.life(name).returns >= savepoint.attempts - 1) return false;
        // P5: nothing is compensated while the outcome of a pivot stays unknown, also if another branch went on without it.
        return !this.within(name).some((other) => this.hasPassed(other) || this.pivotInDoubt(other));
      })
      .at(-1)?.name;
  }

  /** A step failed that lost no join any: the saga starts no further step (F6.5, F6.6). */
  isHalted(): boolean {
    return this.of.nodes.some(({ name }) => this.phase(name) === 'failed' && !this.isDropped(name));
  }

  /** Nothing is left to begin. */
  isAllDone(): boolean {
    return this.of.nodes.every(
      ({ name }) => this.isDropped(name) || ['completed', 'skipped'].includes(this.phase(name)),
    );
  }

  /** B2: undone it is not, and has to be. */
  isLeft(key: string): boolean {
    const { name, forEach, compensate, compensateOnFailure } = this.of.node(key);
    const { phase, unknown, started, child, items } = this.life(key);
    // An operator has taken all of its items as done before they were known.
    if (forEach && key === name && items === undefined) return false;
    if (phase === 'undoing' || phase === 'not undone') return true;
    if (phase === 'completed' && child?.is === 'completed') return true;
    if (compensate === undefined) return false;
    return phase === 'completed' || (phase === 'failed' && (unknown || (compensateOnFailure && started > 0)));
  }

  /** Nothing to compensate, nothing in progress, no probe pending. */
  isClear(node: StepNode): boolean {
    return this.keys(node).every((key) => {
      const { active, phase } = this.life(key);
      return !active && phase !== 'running' && phase !== 'away' && !this.isLeft(key);
    });
  }

  /** B3 within a region: all of it that depends on the node is clear. */
  mayUndo({ name }: StepNode, region: 'all' | 'dropped'): boolean {
    const dependents =
      region === 'all'
        ? this.of.descendants(name)
        : walk(name, (from) => this.of.dependents(from).filter((to) => this.isDropped(to)));
    return [...dependents].every((other) => this.isClear(this.of.node(other)));
  }

  /** Is it one of those that go forward? */
  goesForward({ name }: StepNode): boolean {
    if (this.isDropped(name)) return false;
    return this.book.mode === 'running' || (this.book.mode === 'returning' && !this.isInRegion(name));
  }

  isInRegion(name: string): boolean {
    if (this.book.mode === 'compensating') return true;
    return this.book.target !== undefined && this.of.descendants(this.book.target).has(name);
  }
}

function isCompensable({ compensate, kind }: StepNode): boolean {
  return compensate !== undefined || kind === 'sub-saga';
}
