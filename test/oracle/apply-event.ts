import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { SlotHappenings } from './graph-slots.js';
import { type Book, copyOf, type Relations, Rules } from './model-state.js';
import { suspects } from './expectation.js';
import { doubts, permutations, wait } from './open-questions.js';
import type { EventOf, SagaEvent } from '../../libs/saga/src/machine/saga-event.js';

/**
 * What the rules make of an event: the book after it, or several where they leave it open.
 * `tookEffect`: whether an operator's call was accepted, which depends on more than the rules of the graph.
 */
export function booksAfter(relations: Relations, book: Book, event: SagaEvent, tookEffect: boolean): Book[] {
  if (book.mode === 'over' && event.type !== 'undone') return [book];
  const doubtsBefore = doubts(relations, book);
  const happened = new Happening(relations, copyOf(book)).of(event, tookEffect);
  const books = happened.flatMap((after) => new Happening(relations, after).decidePending());
  return books.flatMap((after) => {
    const fresh = doubts(relations, after).filter((key) => !doubtsBefore.includes(key));
    if (fresh.length === 0) return [after];
    // A rollback may or may not mark a pivot in doubt as not compensable.
    const shown = copyOf(after);
    for (const key of fresh) new Rules(relations, shown).life(key).phase = 'not undone';
    return [after, shown];
  });
}

class Happening extends SlotHappenings {
  of(event: SagaEvent, tookEffect: boolean): Book[] {
    const { book, rules } = this;
    switch (event.type) {
      case 'step-started':
        if (!['idle', 'running'].includes(rules.phase(event.step))) return [book];
        this.change(event.step, { phase: 'running', active: true, retryAt: undefined });
        rules.life(event.step).started += 1;
        return [book];
      case 'start-withdrawn':
        return this.withdrawn(event);
      case 'probe-started':
        this.change(event.step, { active: true });
        return [book];
      case 'step-completed':
        return this.stepCompleted(event);
      case 'step-failed':
        return this.stepFailed(event);
      case 'condition-false':
        this.change(event.step, { phase: 'skipped', retryAt: undefined });
        return [book];
      case 'fan-out-started':
        this.change(event.step, { phase: 'running', items: event.items.length, retryAt: undefined });
        if (event.items.length === 0) this.complete(event.step, '[]');
        return [book];
      case 'delay-started':
        this.change(event.step, { delayed: true, retryAt: event.until });
        return [book];
      case 'wait-started':
        return this.awaited(event);
      case 'signalled':
        this.taken(event);
        return [book];
      case 'refused': {
        const taker = this.taken(event);
        return taker ? this.waitFailed(taker) : [book];
      }
      case 'wait-expired':
        return this.waitExpired(event);
      case 'rate-limit-granted':
        this.change(event.step, { retryAt: event.at });
        return [book];
      case 'compensation-started':
        this.change(event.step, { phase: 'undoing', active: true, retryAt: undefined, reply: undefined });
        return [book];
      case 'compensation-requested':
        return this.requested(event);
      case 'reply-received':
        return this.replied(event);
      case 'compensation-completed':
        if (this.isInProgress(event.step, 'undoing'))
          this.change(event.step, { phase: 'undone', active: false });
        return [book];
      case 'compensation-failed':
        return this.compensationFailed(event);
      case 'resumed':
        return this.resume();
      case 'expired':
        this.compensate();
        return [book];
      case 'settled':
        return this.settled(event.status);
      case 'interrupted':
        this.slotsFreed();
        return this.lose(rules.allKeys().filter((key) => rules.life(key).active));
      case 'taken-over':
        return this.takenOver(event);
      case 'cancelled':
        return this.cancelled(tookEffect);
      case 'aborted':
        book.mode = 'over';
        return [book];
      case 'slot-awaited':
        return this.slotAwaited(event);
      case 'slot-granted':
        return this.slotGranted(event);
      case 'turn-granted':
        return this.granted(event);
      case 'begun':
        return this.begun();
      case 'paused':
      case 'unpaused':
        throw new Error('This oracle has no pauses');
      case 'code-missing':
        throw new Error('What the code of a step is missing is never asked here');
      case 'deadlocked':
        throw new Error('This oracle has no semantic locks');
      case 'retried':
        return this.retried(event.step, tookEffect);
      case 'rescheduled':
        return this.rescheduled(event);
      case 'operator-resolved':
        return this.resolvedByOperator(event, tookEffect);
      case 'undone':
        return this.undone();
      case 'child-started':
        return this.childStarted(event);
      case 'child-cancelling':
        return this.childCancelled(event);
      case 'child-undoing':
        return this.childIsUndone(event);
      case 'child-ended':
        return this.childEnded(event);
    }
  }

  private stepCompleted({ step: key, result }: EventOf<'step-completed'>): Book[] {
    const { book } = this;
    if (!this.isInProgress(key, 'running')) return [book];
    const node = this.relations.node(key);
    this.change(key, { phase: 'completed', active: false, unknown: false, result });
    if (key === node.name) this.complete(key, result);
    else this.completeFanOut(node);
    return [book];
  }

  private stepFailed(event: EventOf<'step-failed'>): Book[] {
    const { rules, book } = this;
    const { step: key, unknown, retryable, now, random } = event;
    if (!this.isInProgress(key, 'running')) return [book];
    const node = this.relations.node(key);
    const life = rules.life(key);
    this.change(key, { active: false, failures: life.failures + 1, unknown: life.unknown || unknown });
    const mayTry = retryable && life.failures < node.retry.attempts && (node.idempotent || !unknown);
    if (mayTry && rules.goesForward(node)) {
      this.change(key, { phase: 'idle', retryAt: now + wait(life.failures, random) });
      return [book];
    }
    this.change(key, { phase: 'failed' });
    return this.failedForGood(key);
  }

  private compensationFailed({ step: key, retryable, now, random }: EventOf<'compensation-failed'>): Book[] {
    const life = this.rules.life(key);
    if (!this.isInProgress(key, 'undoing') && life.reply === undefined) return [this.book];
    life.reply = undefined;
    life.undoFailures += 1;
    const again = retryable && life.undoFailures < this.relations.node(key).compensationRetry.attempts;
    if (again) this.change(key, { active: false, retryAt: now + wait(life.undoFailures, random) });
    else this.change(key, { active: false, phase: 'not undone' });
    return [this.book];
  }

  private takenOver({ count, bound, now }: EventOf<'taken-over'>): Book[] {
    if (!['running', 'returning', 'compensating'].includes(this.book.mode)) return [this.book];
    let books = [this.book];
    for (let lost = 0; lost < Math.max(count, 1); lost += 1) {
      books = books.flatMap((before) =>
        this.variants(before).flatMap(([book, wide]) => {
          const rules = new Rules(this.relations, book);
          const recorded = rules
            .allKeys()
            .filter((key) => rules.phase(key) === 'running')
            // A fan-out is not itself at work, its items are.
            .filter((key) => rules.life(key).items === undefined);
          const due = suspects(this.relations, book, now, wide)
            .map((action) => action.split(' '))
            .filter(([kind]) => kind === 'run')
            .map(([, key]) => key!);
          return new Happening(this.relations, book).lose([...new Set([...recorded, ...due])]);
        }),
      );
    }
    for (const book of books) new Happening(this.relations, book).turnLost(now);
    if (count > bound) for (const book of books) new Happening(this.relations, book).settled('stuck');
    return books;
  }

  private variants(book: Book): [Book, boolean][] {
    return this.relations.nodes.some(({ forEach }) => forEach)
      ? [
          [copyOf(book), false],
          [book, true],
        ]
      : [[book, false]];
  }

  /** The results of these attempts are lost. Any of them may have taken effect. */
  private lose(keys: string[]): Book[] {
    const atMostOnce = keys.filter((key) => !this.relations.node(key).idempotent);
    for (const key of keys) if (!atMostOnce.includes(key)) this.loseOne(key);
    let books = [this.book];
    const interrupted = atMostOnce.filter((key) => this.interrupt(key));
    if (interrupted.length === 0) return books;
    // Several fail at one moment; the rules do not say which is the first.
    const orders = interrupted.length < 4 ? permutations(interrupted) : [interrupted];
    books = orders.flatMap((order) => {
      const from = new Happening(this.relations, copyOf(this.book));
      return order.reduce<Book[]>(
        (all, key) => all.flatMap((book) => new Happening(this.relations, book).failNow(key)),
        [from.book],
      );
    });
    return books;
  }

  private failNow(key: string): Book[] {
    this.change(key, { phase: 'failed', unknown: true });
    this.rules.life(key).failures += 1;
    return this.failedForGood(key);
  }

  private loseOne(key: string): void {
    const { rules } = this;
    const life = rules.life(key);
    const node = this.relations.node(key);
    if (life.phase !== 'idle' && life.phase !== 'running') {
      this.change(key, { active: false });
      return;
    }
    this.change(key, {
      phase: rules.goesForward(node) ? 'idle' : 'failed',
      started: life.started + (life.phase === 'running' ? 0 : 1),
      unknown: life.unknown || !(node.transactional || node.kind === 'sub-saga'),
      active: false,
      retryAt: undefined,
    });
  }

  /** True: it has failed by that. Its start is recorded before it runs: no record, no run. */
  private interrupt(key: string): boolean {
    const life = this.rules.life(key);
    life.active = false;
    return life.phase === 'running' && this.relations.node(key).probe === undefined;
  }

  /** A saga that completed is undone after all. */
  private undone(): Book[] {
    const { book, rules } = this;
    if (book.mode !== 'over' || !book.completed || rules.pivotPassed()) return [book];
    book.completed = false;
    this.compensate();
    return [book];
  }

  private cancelled(tookEffect: boolean): Book[] {
    const { book, rules } = this;
    const forward = ['running', 'returning'].includes(book.mode) || book.resting === 'running';
    const open = book.resting === 'returning';
    if (rules.pivotPassed() || (!forward && !open)) return [book];
    const untouched = copyOf(book);
    this.leavePivots();
    this.compensate();
    // A pivot in doubt must not be compensated. Whether a cancellation may do it is not specified.
    const doubt = this.relations.nodes.some((node) => rules.pivotInDoubt(node));
    return (doubt || open) && !tookEffect ? [untouched] : [book];
  }

  /** P5: of a saga that an operator deals with, a pivot in doubt is not tried again unless he asks for it. */
  private leavePivots(): void {
    const { book, rules } = this;
    if (book.mode !== 'stuck' && book.mode !== 'suspended') return;
    for (const { name } of this.relations.nodes.filter((node) => rules.isUndecided(node)))
      if (rules.phase(name) === 'idle') this.change(name, { phase: 'failed', retryAt: undefined });
  }

  private retried(step: string | undefined, tookEffect: boolean): Book[] {
    const { book, relations, rules } = this;
    if (['running', 'returning', 'compensating'].includes(book.mode)) return this.hurried(step);
    if (book.mode !== 'stuck' && book.mode !== 'suspended') return [book];
    if (!tookEffect) return step === undefined ? [] : [book];
    book.deadline = undefined;
    const barred = rules.within(book.target).filter((node) => rules.isBarred(node));
    const isForward = step === undefined || barred.some(({ name }) => name === step);
    if (book.resting === 'compensating' && barred.length > 0 && isForward && !this.isPartlyUndone())
      return this.forwardAgain(barred);
    book.mode = book.resting!;
    book.resting = undefined;
    // Back at a savepoint, the steps beside that have failed may be tried again at once, or be asked for then.
    const later = copyOf(book);
    new Happening(relations, later).tryAgain(step, false);
    this.tryAgain(step, true);
    return book.mode === 'returning' ? [book, later] : [book];
  }

  /** P5: an operator has said of another pivot that it was undone. There is no way forward any more. */
  private isPartlyUndone(): boolean {
    const { rules } = this;
    return rules.allKeys().some((key) => {
      return rules.phase(key) === 'undone' && !rules.isDropped(this.relations.node(key).name);
    });
  }

  /** What waits for another attempt, of a step or of a compensation, makes it at once. */
  private hurried(only: string | undefined): Book[] {
    for (const key of this.rules.allKeys()) {
      if (only !== undefined && only !== key && only !== this.relations.node(key).name) continue;
      const { phase, failures, active } = this.rules.life(key);
      if (!active && (phase === 'undoing' || (phase === 'idle' && failures > 0)))
        this.change(key, { retryAt: undefined });
      else if (only !== undefined && phase === 'not undone' && this.isUndoable(key))
        this.change(key, { phase: 'undoing', undoFailures: 0, retryAt: undefined });
    }
    return [this.book];
  }

  /** P5: nothing was undone, so that it can: the pivot is tried again, and all that has failed. */
  private forwardAgain(barred: readonly StepNode[]): Book[] {
    const { book } = this;
    book.mode = 'running';
    book.resting = book.target = undefined;
    for (const node of barred) {
      this.needAgain(node);
      this.change(node.name, { phase: 'idle', failures: 0, retryAt: undefined });
    }
    this.tryAgain(undefined, true);
    return [book];
  }

  /**
   * P5: it had lost a join any, and is gone through after all; so is what it came after, if that still
   * stands.
   */
  private needAgain({ name, after }: StepNode): void {
    const { book, rules } = this;
    if (!book.pruned.delete(name)) return;
    const winner = book.winners.get(name);
    for (const entry of after) {
      const stands = rules.phase(entry) === 'completed' || rules.phase(entry) === 'skipped';
      if (stands && (winner === undefined || winner === entry)) this.needAgain(this.relations.node(entry));
    }
  }

  private isUndoable(key: string): boolean {
    const { compensate, kind } = this.relations.node(key);
    return compensate !== undefined || kind === 'sub-saga';
  }

  private tryAgain(step: string | undefined, forward: boolean): void {
    const { rules, relations } = this;
    for (const key of new Set([...rules.allKeys(), ...relations.nodes.map(({ name }) => name)])) {
      const node = relations.node(key);
      if (step !== undefined && step !== key && step !== node.name) continue;
      const { phase, items, wait } = rules.life(key);
      if (phase === 'not undone' && this.isUndoable(key)) {
        this.change(key, { phase: 'undoing', undoFailures: 0, retryAt: undefined });
      } else if (forward && phase === 'failed' && rules.goesForward(node)) {
        this.change(key, {
          phase: items === undefined ? 'idle' : 'running',
          failures: 0,
          retryAt: undefined,
          // What has come is tried again, otherwise it waits anew.
          wait: wait?.number === undefined ? undefined : wait,
        });
      }
      if (forward) this.repair(node);
    }
  }

  /** A fan-out goes on once none of its items has failed. */
  private repair(node: StepNode): void {
    const { rules } = this;
    if (rules.life(node.name).items === undefined || rules.phase(node.name) === 'completed') return;
    if (!rules.goesForward(node)) return;
    const failed = rules.keys(node).some((key) => rules.phase(key) === 'failed');
    this.change(node.name, { phase: failed ? 'failed' : 'running' });
    this.completeFanOut(node);
  }

  private resolvedByOperator(
    { step: key, result }: EventOf<'operator-resolved'>,
    tookEffect: boolean,
  ): Book[] {
    const { book, rules } = this;
    const goesOn = ['running', 'returning', 'compensating'].includes(book.mode);
    if (goesOn && rules.phase(key) === 'not undone') {
      this.change(key, { phase: 'undone', retryAt: undefined });
      return tookEffect ? [book] : [];
    }
    if (!tookEffect || (book.mode !== 'stuck' && book.mode !== 'suspended')) return [book];
    const node = this.relations.node(key);
    book.mode = book.resting!;
    book.resting = book.deadline = undefined;
    // What another saga will say is not for anybody to say before.
    if (rules.isAwaited(key)) return [];
    const isDone = rules.phase(key) === 'completed' || rules.phase(key) === 'skipped';
    if (rules.goesForward(node) ? isDone : !rules.isLeft(key)) return [];
    if (!rules.goesForward(node)) {
      this.change(key, { phase: 'undone', retryAt: undefined });
    } else if (key === node.name) {
      this.complete(key, result);
    } else {
      this.change(key, { phase: 'completed', unknown: false, result, retryAt: undefined });
      this.repair(node);
    }
    return [book];
  }
}
