import type { Book, ChildIs, Life } from './model-state.js';
import { Consequences } from './consequences.js';
import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';

/** Applies the rules to requests to, and outcomes of, the sagas that steps have started. */
export class ChildHappenings extends Consequences {
  protected isInProgress(key: string, phase: Life['phase']): boolean {
    const life = this.rules.life(key);
    return life.active && life.phase === phase;
  }

  /** No saga starts that would have to roll back immediately. */
  protected childStarted({ step, child }: EventOf<'child-started'>): Book[] {
    const { rules, book } = this;
    if (!this.isInProgress(step, 'running')) return [book];
    if (!rules.goesForward(this.relations.node(step))) this.change(step, { phase: 'failed', active: false });
    else this.change(step, { phase: 'away', active: false, child: { id: child, is: 'going on' } });
    return [book];
  }

  protected childCancelled({ step, child }: EventOf<'child-cancelling'>): Book[] {
    if (this.isAwaiting(step, child, 'going on'))
      this.change(step, { child: { id: child, is: 'cancelled' } });
    return [this.book];
  }

  protected childIsUndone({ step, child }: EventOf<'child-undoing'>): Book[] {
    if (this.isInProgress(step, 'undoing') && this.rules.life(step).child?.id === child)
      this.change(step, { active: false, child: { id: child, is: 'being undone' } });
    return [this.book];
  }

  protected childEnded(event: EventOf<'child-ended'>): Book[] {
    const { step, child, status, result } = event;
    const { book, rules } = this;
    // A saga that needs an operator receives outcomes when it goes on.
    const goesOn = ['running', 'returning', 'compensating'].includes(book.mode);
    if (!goesOn || !this.isAwaiting(step, child)) return [book];
    if (rules.phase(step) === 'undoing') return this.childUndone(event);
    this.change(step, { child: { id: child, is: status === 'completed' ? 'completed' : 'over' } });
    if (status === 'completed') {
      this.complete(step, result);
      return [book];
    }
    this.change(step, { phase: 'failed', failures: rules.life(step).failures + 1 });
    return this.failedForGood(step);
  }

  /** The step's own compensation comes after its saga's. One that was aborted is neither here nor there. */
  private childUndone({ step, child, status }: EventOf<'child-ended'>): Book[] {
    const { compensate } = this.relations.node(step);
    if (status === 'aborted')
      this.change(step, { phase: 'not undone', child: { id: child, is: 'completed' } });
    if (status === 'compensated') {
      const phase = compensate === undefined ? 'undone' : 'undoing';
      this.change(step, { phase, child: { id: child, is: 'undone' } });
    }
    return [this.book];
  }

  private isAwaiting(step: string, id: string, is?: ChildIs): boolean {
    const { child } = this.rules.life(step);
    return this.rules.isAwaited(step) && child!.id === id && (is === undefined || child!.is === is);
  }
}
