import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { type Book, copyOf, type Life, type Relations, Rules } from './model-state.js';
import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';

/** What follows from what happened, by the rules of the graph. */
export class Consequences {
  readonly rules: Rules;

  constructor(
    readonly relations: Relations,
    readonly book: Book,
  ) {
    this.rules = new Rules(relations, book);
  }

  change(key: string, change: Partial<Life>): void {
    const life = this.rules.life(key);
    // C2: each attempt has a slot of its own, and what is not to begin waits for none.
    if (change.phase !== undefined && change.phase !== 'running') life.slot = undefined;
    Object.assign(life, change);
  }

  completeFanOut(node: StepNode): void {
    const { rules } = this;
    if (rules.phase(node.name) !== 'running') return;
    const keys = rules.keys(node);
    if (!keys.every((key) => rules.phase(key) === 'completed')) return;
    const results = keys.map((key) => rules.life(key).result ?? 'null');
    this.complete(node.name, `[${results.join(',')}]`);
  }

  /** F7: it wins every waiting join any that has no winner yet. */
  complete(name: string, result: string | undefined): void {
    const { book, rules } = this;
    this.change(name, { phase: 'completed', unknown: false, retryAt: undefined, result, wait: undefined });
    book.completions.push(name);
    if (rules.goesForward(this.relations.node(name))) this.winJoins(name);
  }

  winJoins(winner: string): void {
    const { book, rules } = this;
    let isWon = false;
    for (const name of this.relations.dependents(winner)) {
      const node = this.relations.node(name);
      const isOpen = node.join === 'any' && !rules.isPruned(name) && !book.winners.has(name);
      // What is being returned before is won anew when it is gone through again.
      const isReset = book.mode === 'returning' && rules.isInRegion(name);
      if (!isOpen || isReset) continue;
      book.winners.set(name, winner);
      isWon = true;
    }
    // Where nothing was won, nothing is lost: a pivot that had lost may be gone through after all (P5).
    if (isWon) this.cutUnneeded();
  }

  cutUnneeded(): void {
    for (let node = this.rules.unneeded(); node; node = this.rules.unneeded()) this.prune(node.name);
  }

  prune(name: string): void {
    const node = this.relations.node(name);
    this.book.pruned.add(name);
    this.endWaiting(node);
  }

  /**
   * No attempt of it starts any more. A started step that waits for another attempt has failed. F7: a loser
   * is skipped, unless its failure is compensated.
   */
  endWaiting(node: StepNode): void {
    for (const key of this.rules.keys(node)) {
      const { phase, started } = this.rules.life(key);
      if (phase !== 'idle') continue;
      const { wait } = this.rules.life(key);
      // W3, C2: it takes nothing any more. What it was called with, it is called with again, should it go forward (P5).
      this.change(key, {
        wait: started > 0 && wait?.number !== undefined ? wait : undefined,
        slot: undefined,
      });
      const isUndone =
        this.rules.life(key).unknown || (node.compensateOnFailure && node.compensate !== undefined);
      const isOver = this.rules.isPruned(node.name) && !isUndone && !node.forEach;
      if (started > 0 && !isOver) this.change(key, { phase: 'failed', retryAt: undefined });
      else if (this.rules.isPruned(node.name)) this.change(key, { phase: 'skipped', retryAt: undefined });
      // Should it go forward again (P5), its delay begins anew.
      else if (started === 0) this.change(key, { delayed: false, retryAt: undefined });
    }
  }

  /** F6. */
  failedForGood(key: string): Book[] {
    const { rules, book } = this;
    const node = this.relations.node(key);
    if (node.name !== key) {
      if (rules.phase(node.name) !== 'running') return [book];
      this.change(node.name, { phase: 'failed' });
    }
    if (!rules.goesForward(node) || this.waitsWith(node)) return [book];
    if (node.optional) {
      // O1: the saga goes on without it, and what it did is undone.
      this.change(node.name, { continued: true });
      this.endWaiting(node);
      return [book];
    }
    const tolerated = rules.tolerating(node.name);
    const doubtful = rules.pivotInDoubt(node);
    if (book.mode === 'returning') return this.failedBeside(node, tolerated, doubtful);
    const halted = copyOf(book);
    if (tolerated) {
      for (const name of tolerated) this.prune(name);
      this.cutUnneeded();
      return doubtful ? [book, halted] : [book];
    }
    if (doubtful) return [book];
    const savepoint = rules.savepointFor(node.name);
    if (savepoint !== undefined) this.returnTo(savepoint);
    else if (!rules.pivotPassed() && this.relations.graph.onFailure === 'compensate') this.compensate();
    return [book];
  }

  /** S4, while the saga returns to a savepoint that is not before the step. */
  failedBeside(node: StepNode, tolerated: string[] | undefined, doubtful: boolean): Book[] {
    const { rules, book } = this;
    const before = copyOf(book);
    const books = [book];
    // With onFailure 'suspend' it may also wait for its operator, once it is back at the savepoint.
    if (this.relations.graph.onFailure === 'suspend') books.push(copyOf(book));
    const savepoint = rules.savepointFor(node.name);
    if (doubtful) return books;
    if (tolerated) {
      const going = new Consequences(this.relations, before);
      for (const name of tolerated) going.prune(name);
      going.cutUnneeded();
      books.push(before);
    }
    const target = book.pending?.target ?? book.target!;
    if (savepoint !== undefined && this.relations.descendants(savepoint).has(target)) {
      this.returnTo(savepoint);
    } else if (!rules.pivotPassed()) this.compensate();
    return books;
  }

  /** P4: what its failure leads to is decided with the pivots. */
  private waitsWith({ name }: StepNode): boolean {
    const { pending } = this.book;
    return pending !== undefined && this.rules.within(pending.target).some((node) => node.name === name);
  }

  /** P4: true: it waits for its pivots. */
  private postponed(target: string | undefined): boolean {
    const { book, rules } = this;
    book.pending = undefined;
    if (!rules.within(target).some((node) => rules.isUndecided(node))) return false;
    book.pending = { target };
    book.mode = book.resting ?? book.mode;
    book.resting = undefined;
    return true;
  }

  /** P4: once the pivots have ended, the saga rolls back, or handles the failures since then. */
  decidePending(): Book[] {
    const { book, rules } = this;
    const { pending } = book;
    if (pending === undefined) return [book];
    if (book.mode === 'over') book.pending = undefined;
    if (!['running', 'returning', 'compensating'].includes(book.mode)) return [book];
    const pivots = rules.within(pending.target);
    const isPassed = pivots.some((node) => rules.hasPassed(node));
    if (!isPassed && pivots.some((node) => rules.isUndecided(node))) return [book];
    book.pending = undefined;
    if (isPassed || pending.target !== undefined) return this.failAgain();
    this.compensate();
    return [book];
  }

  private failAgain(): Book[] {
    return this.relations.nodes.reduce<Book[]>(
      (books, node) =>
        books.flatMap((book) => {
          const going = new Consequences(this.relations, book);
          const isOpen = going.rules.phase(node.name) === 'failed' && going.rules.goesForward(node);
          return isOpen ? going.failedForGood(node.name) : [book];
        }),
      [this.book],
    );
  }

  returnTo(savepoint: string): void {
    if (this.postponed(savepoint)) return;
    this.book.mode = 'returning';
    this.book.target = savepoint;
    this.endWaitingInRegion();
  }

  compensate(): void {
    if (this.postponed(undefined)) return;
    this.book.mode = 'compensating';
    this.book.resting = this.book.target = undefined;
    this.endWaitingInRegion();
  }

  endWaitingInRegion(): void {
    for (const node of this.relations.nodes) if (this.rules.isInRegion(node.name)) this.endWaiting(node);
  }

  /** S3. */
  resume(): Book[] {
    const { book, rules, relations } = this;
    const savepoint = book.target!;
    const again = relations.descendants(savepoint);
    book.round += 1;
    for (const name of again) {
      for (const key of rules.keys(relations.node(name))) book.lives.delete(key);
      book.lives.delete(name);
      book.pruned.delete(name);
      book.winners.delete(name);
    }
    for (const name of again) rules.life(name).round = book.round;
    rules.life(savepoint).returns += 1;
    book.completions = book.completions.filter((name) => !again.has(name));
    book.mode = 'running';
    book.target = undefined;
    // Losers beside what is gone through again stay lost; what cannot do without them may be lost from the
    // beginning.
    const lost = new Consequences(relations, copyOf(book));
    for (const going of [this, lost]) {
      if (going === lost) lost.cutDoomed(again);
      for (const name of book.completions) if (!going.rules.isPruned(name)) going.winJoins(name);
      going.cutUnneeded();
    }
    return lost.book.pruned.size === book.pruned.size ? [book] : [book, lost.book];
  }

  cutDoomed(among: ReadonlySet<string>): void {
    const isLost = (name: string) => this.rules.isPruned(name);
    for (const { name, after, join } of this.relations.nodes) {
      if (!among.has(name) || after.length === 0) continue;
      if (join === 'all' ? after.some(isLost) : after.every(isLost)) this.prune(name);
    }
  }

  settled(status: EventOf<'settled'>['status']): Book[] {
    const { book } = this;
    if (status === 'stuck' || status === 'suspended') {
      book.resting = book.mode as Book['resting'];
      book.mode = status;
    } else {
      book.mode = 'over';
      book.completed = status === 'completed';
    }
    return [book];
  }
}
