import type { Action } from '../../libs/saga/src/machine/plan.js';
import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { type Book, copyOf, type Relations, Rules } from './model-state.js';

/** What the rules say comes next. */
export interface Expectation {
  /** As `kind key`: these, */
  readonly must: readonly string[];
  /** perhaps these, where the rules leave it open, */
  readonly may: readonly string[];
  /** and as many of each group's as there is room for. */
  readonly groups: readonly { readonly keys: readonly string[]; readonly room: number }[];
  readonly delays: readonly string[];
  /** Its turn has come. */
  readonly begins: boolean;
  /** Waits that begin, and those whose time is over. */
  readonly waits: readonly string[];
  readonly wakes: readonly number[];
  /** One of these, if there are any. */
  readonly settle: readonly string[];
  /** It may also go on with what is left of `may`. */
  readonly settleIsOpen: boolean;
  /** Something is waited for from outside. */
  readonly rests: boolean;
  readonly expired: boolean;
}

/** What comes next by the rules, for a saga with this book at this time. */
export function expectation(relations: Relations, book: Book, now: number): Expectation {
  return new Expecting(relations, book, now).result();
}

class Expecting implements Expectation {
  readonly must: string[] = [];
  readonly may: string[] = [];
  readonly groups: { keys: string[]; room: number }[] = [];
  readonly delays: string[] = [];
  begins = false;
  readonly waits: string[] = [];
  readonly wakes: number[] = [];
  readonly settle: string[] = [];
  settleIsOpen = false;
  expired = false;
  private watchesDeadline = false;
  /** A step waits for a signal, or for a slot. */
  rests = false;
  private readonly rules: Rules;

  constructor(
    private readonly of: Relations,
    private readonly book: Book,
    private readonly now: number,
  ) {
    this.rules = new Rules(of, book);
  }

  result(): Expectation {
    if (this.book.mode === 'running') this.forward();
    else if (this.book.mode === 'returning') this.back((name) => this.rules.isInRegion(name));
    else if (this.book.mode === 'compensating') this.back(() => true);
    return this;
  }

  private forward(): void {
    const { rules, of, book } = this;
    if (book.pending !== undefined) return this.pending();
    // What an operator has done does not begin any more.
    const isLeft = !rules.isHalted() && !rules.isAllDone();
    if (isLeft && rules.turn(this.now) !== 'begun') return this.beforeItsTurn();
    if (book.deadline !== undefined && !rules.pivotPassed()) {
      this.expired = book.deadline <= this.now;
      this.watchesDeadline = !this.expired && !rules.isHalted() && !rules.isAllDone();
      if (this.watchesDeadline) this.wakes.push(book.deadline);
    }
    const halted = rules.isHalted();
    for (const node of of.nodes) {
      if (!rules.isDropped(node.name)) {
        if (!halted) this.begin(node);
        else this.openProbe(node);
        continue;
      }
      if (rules.mayUndo(node, 'dropped')) this.undo(node, halted);
      else this.openProbe(node);
    }
    if (rules.anyActive()) return;
    if (halted) {
      const doubt = of.nodes.some((node) => rules.pivotInDoubt(node));
      if (rules.pivotPassed() || doubt || of.graph.onFailure !== 'suspend') this.settle.push('stuck');
      if (of.graph.onFailure === 'suspend') this.settle.push('suspended');
      this.settleIsOpen = true;
      return;
    }
    const isOver = (node: StepNode) =>
      rules.isDropped(node.name)
        ? rules.isClear(node)
        : ['completed', 'skipped'].includes(rules.phase(node.name));
    if (of.nodes.every(isOver)) this.settle.push('completed');
    else if (this.hasNothing() && this.someFailedForGood()) this.settle.push('stuck');
  }

  /** L1: nothing begins before its turn, but its deadline may pass. */
  private beforeItsTurn(): void {
    const { rules, of, book } = this;
    const turn = rules.turn(this.now);
    if (book.deadline !== undefined && !rules.pivotPassed()) {
      this.expired = book.deadline <= this.now;
      if (turn === 'waits') this.wakes.push(book.deadline);
    }
    if (turn === 'begins') this.begins = true;
    else if (turn === 'asks') this.must.push(`begin ${of.nodes[0]!.name}`);
    else this.wakes.push((book.turn as { at: number }).at);
  }

  /** P4: only the pivots that decide about the rollback continue. Losers of joins are compensated meanwhile. */
  private pending(): void {
    const { rules, of } = this;
    for (const node of of.nodes) {
      const { phase, child } = rules.life(node.name);
      if (rules.isDropped(node.name)) {
        if (rules.mayUndo(node, 'dropped')) this.undo(node, true);
        else this.openProbe(node);
      } else if (!rules.isUndecided(node)) this.openProbe(node);
      else if (phase !== 'away') this.begin(node);
      else if (child!.is === 'going on') this.must.push(`cancel-child ${node.name}`);
    }
  }

  private begin(node: StepNode): void {
    const { rules } = this;
    const { phase, active, items, retryAt, delayed, started, wait } = rules.life(node.name);
    if (!rules.isReady(node) || (phase !== 'idle' && phase !== 'running')) return;
    if (items !== undefined) return this.beginItems(node);
    if (active) return;
    if (phase === 'running') return this.probe(node);
    if (rules.awaitsSlot(node.name)) this.rests = true;
    else if (retryAt !== undefined && retryAt > this.now) this.wakes.push(retryAt);
    else if (node.delay !== undefined && !delayed && started === 0) this.delays.push(node.name);
    else if (node.delayOf && !delayed && started === 0) this.must.push(`await ${node.name}`);
    else if (node.wait !== undefined && wait?.number === undefined) this.await(node);
    else this.must.push(`${node.forEach ? 'expand' : 'run'} ${node.name}`);
  }

  /** W4: it waits until its time is over, and no longer; without one, for ever. */
  private await(node: StepNode): void {
    const { wait } = this.rules.life(node.name);
    if (wait === undefined) {
      if (node.when || node.wait!.timeoutOf) this.must.push(`await ${node.name}`);
      else this.waits.push(`wait-started ${node.name}`);
    } else if (wait.until !== undefined && wait.until <= this.now) {
      this.waits.push(`wait-expired ${node.name}`);
    } else {
      this.rests = true;
      if (wait.until !== undefined) this.wakes.push(wait.until);
    }
  }

  private beginItems(node: StepNode): void {
    const { rules } = this;
    const idle = rules.keys(node).filter((key) => rules.phase(key) === 'idle');
    if (idle.some((key) => rules.awaitsSlot(key))) this.rests = true;
    const keys = idle.filter((key) => !rules.awaitsSlot(key));
    this.addGroup('run', node, keys);
  }

  /** R2: what an interrupted at-most-once step did is asked first of all. */
  private probe(node: StepNode): void {
    this.addGroup('probe', node, []);
  }

  /** Interrupted, and its probe was not asked yet. */
  private interrupted(node: StepNode): string[] {
    return this.rules.keys(node).filter((key) => {
      const { phase, active, items } = this.rules.life(key);
      return phase === 'running' && !active && items === undefined;
    });
  }

  private openProbe(node: StepNode): void {
    this.may.push(...this.interrupted(node).map((key) => `probe ${key}`));
  }

  private back(isInRegion: (name: string) => boolean): void {
    const { rules, of, book } = this;
    if (of.nodes.some((node) => isInRegion(node.name) && rules.isBarred(node))) {
      if (!rules.anyActive()) this.settle.push('stuck');
      return;
    }
    for (const node of of.nodes) {
      // What lost a join any was not needed by what the join went on with.
      const isLoser = rules.isDropped(node.name) && rules.mayUndo(node, 'dropped');
      if (!isInRegion(node.name)) {
        this.openProbe(node);
        if (isLoser) this.undo(node, true);
      } else if (rules.mayUndo(node, 'all')) this.undo(node, false);
      else {
        this.openProbe(node);
        if (isLoser) this.undo(node, true);
      }
    }
    const region = of.nodes.filter(({ name }) => isInRegion(name));
    if (book.mode === 'returning' && region.every((node) => rules.isClear(node))) {
      this.settle.push('resumed');
    } else if (!rules.anyActive()) {
      if (region.every((node) => rules.isClear(node))) this.settle.push('compensated');
      else if (this.hasNothing()) this.settle.push('stuck');
      this.settleIsOpen = this.may.length > 0;
    }
  }

  private undo(node: StepNode, isOpen: boolean): void {
    const kind = this.rollbackActionOf(node.name);
    if (kind === undefined) return;
    const { reply } = this.rules.life(node.name);
    if (reply !== undefined) return this.awaitReply(node, reply.until, isOpen);
    const keys = this.rules
      .keys(node)
      .filter(
        (key) =>
          (this.rules.isLeft(key) && this.rules.phase(key) !== 'not undone') || kind === 'cancel-child',
      );
    if (isOpen) {
      this.may.push(...keys.map((key) => `${kind} ${key}`));
      this.openProbe(node);
    } else this.addGroup(kind, node, keys);
  }

  /** B6: until it is confirmed, or its time is over. */
  private awaitReply({ name }: StepNode, until: number | undefined, isOpen: boolean): void {
    this.rests = true;
    if (until === undefined) return;
    if (until <= this.now) (isOpen ? this.may : this.must).push(`miss-reply ${name}`);
    else this.wakes.push(until);
  }

  /**
   * How a step is compensated: its own saga comes before the step. A request that was already sent is
   * awaited.
   */
  private rollbackActionOf(name: string): 'compensate' | 'cancel-child' | 'undo-child' | undefined {
    const { child } = this.rules.life(name);
    if (this.rules.isAwaited(name)) return child!.is === 'going on' ? 'cancel-child' : undefined;
    return child?.is === 'completed' ? 'undo-child' : 'compensate';
  }

  private addGroup(kind: Action['kind'], node: StepNode, keys: string[]): void {
    const lives = keys.map((key) => ({ key, ...this.rules.life(key) })).filter(({ active }) => !active);
    const probes = this.interrupted(node).map((key) => `probe ${key}`);
    const due = lives.filter(({ retryAt }) => retryAt === undefined || retryAt <= this.now);
    // C1: an item that waits for a slot takes the place of another.
    const isInPlace = (key: string) => this.rules.life(key).active || this.rules.awaitsSlot(key);
    const inProgress = this.rules.keys(node).filter(isInPlace).length;
    const room = this.rules.life(node.name).items === undefined ? 1 : node.itemsAtOnce - inProgress;
    // What fills it ends first, and is looked at then.
    if (room > due.length + probes.length) {
      for (const { retryAt } of lives)
        if (retryAt !== undefined && retryAt > this.now) this.wakes.push(retryAt);
    }
    const actions = [...probes, ...due.map(({ key }) => `${kind} ${key}`)];
    if (actions.length > 0) this.groups.push({ keys: actions, room: Math.max(0, room) });
  }

  private hasNothing(): boolean {
    const isFull = this.groups.every(({ keys }) => keys.length === 0);
    // Something may well be due at the very moment of the deadline.
    const waiting = this.wakes.length - Number(this.watchesDeadline);
    const isIdle = this.must.length + this.delays.length + this.waits.length + waiting === 0;
    return isIdle && isFull && !this.expired && !this.rests;
  }

  private someFailedForGood(): boolean {
    return this.rules.allKeys().some((key) => this.rules.phase(key) === 'not undone');
  }
}

/**
 * The steps and items that a worker may have begun, now or before: time passes while it is lost. `wide`: with
 * those that others would have kept from beginning, since one may be suspected too many, but none too few.
 */
export function suspects(relations: Relations, book: Book, now: number, wide: boolean): string[] {
  const rules = new Rules(relations, book);
  // L3: before its time it has begun nothing. Otherwise it may have, with a time that was not recorded.
  const turn = rules.turn(now) === 'waits' ? book.turn : 'begun';
  // C3: what waits for a slot may have been given one, and have begun.
  const { must, groups } = expectation(relations, { ...withSlots(book), turn }, now);
  const items = groups.flatMap(({ keys, room }) => {
    const lives = keys.map((action) => {
      const { retryAt: since = 0, failures, slot } = rules.life(action.split(' ')[1]!);
      // An operator may have ended its wait for another attempt, or a slot may have been free.
      return { action, since, isAgain: since > 0 || failures > 0 || slot?.since !== undefined };
    });
    return lives
      .filter(({ since, isAgain }, index) => {
        const before = lives
          .slice(0, index)
          .filter((one) => one.since <= since && !(wide && one.isAgain && one.since === 0));
        return before.length < room || (wide && isAgain && room > 0);
      })
      .map(({ action }) => action);
  });
  return [...must, ...items];
}

function withSlots(book: Book): Book {
  const given = copyOf(book);
  for (const life of given.lives.values()) life.slot = undefined;
  return given;
}
