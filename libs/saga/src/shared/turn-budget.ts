import { setImmediate } from 'node:timers';
import { Fifo } from './fifo.js';

/** Characters of one payload: less than that takes no time that could be noticed. */
const SMALL = 1_024;

/** Some 10 ms of work. */
const CHARACTERS_PER_TURN = 2 ** 20;

/**
 * How many characters of payloads are encoded, copied and sent in one turn of the event loop. Large payloads that become
 * ready together would otherwise keep the process from everything else, its heartbeats among it, for as long as all of
 * them take.
 */
export class TurnBudget {
  private spent = 0;
  private isCounting = false;
  private readonly waiting = new Fifo<() => void>();

  constructor(private readonly charactersPerTurn = CHARACTERS_PER_TURN) {}

  /** Must whatever is large wait for the next turn? Asked first, since an `await` has a price of its own. */
  get isSpent(): boolean {
    return this.spent >= this.charactersPerTurn || this.waiting.length > 0;
  }

  spend(characters: number): void {
    if (characters < SMALL) return;
    this.spent += characters;
    if (this.isCounting) return;
    this.isCounting = true;
    // The first one comes before the timers of the next turn: what it allowed would be part of this one.
    setImmediate(() => setImmediate(() => void this.beginTurn()));
  }

  /** While the budget is spent: resolves in a turn that has something left, in the order of the calls. */
  nextTurn(): Promise<void> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private async beginTurn(): Promise<void> {
    this.isCounting = false;
    this.spent = 0;
    while (this.spent < this.charactersPerTurn) {
      const goOn = this.waiting.shift();
      if (!goOn) return;
      goOn();
      // It spends first.
      await Promise.resolve();
    }
  }
}

/** The process has one event loop, whatever the number of engines in it. */
export const TURN_BUDGET = new TurnBudget();
