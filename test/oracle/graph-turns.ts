import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';
import { WaitHappenings } from './graph-waits.js';
import type { Book } from './model-state.js';

/** What the rules make of the turns that the rate limit of a name gives to its sagas. */
export class TurnHappenings extends WaitHappenings {
  /** L1: until then it waits. */
  protected granted({ at }: EventOf<'turn-granted'>): Book[] {
    const { book } = this;
    if (book.mode === 'running' && book.turn !== 'begun') book.turn = { at };
    return [book];
  }

  protected begun(): Book[] {
    this.book.turn = 'begun';
    return [this.book];
  }

  /** L3: a lost worker may have used its time. It asks again, unless that is still to come. */
  protected turnLost(now: number): void {
    const turn = this.rules.turn(now);
    if (turn === 'asks' || turn === 'begins') this.book.turn = undefined;
  }
}
