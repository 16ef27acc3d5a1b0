import { LONGEST_TIMER } from '../definition/duration.js';
import type { Clock, Timer } from './clock.js';

/** Messages for one reader, who takes all that are there at once and waits when there are none. */
export class Inbox<Message> {
  private messages: Message[] = [];
  private arrived: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  get isEmpty(): boolean {
    return this.messages.length === 0;
  }

  put(message: Message): void {
    this.messages.push(message);
    this.arrived?.();
  }

  /** All messages; waits for the first one, but not longer than `timeout` ms. */
  async take(timeout?: number): Promise<Message[]> {
    if (this.messages.length === 0) {
      let timer: Timer | undefined;
      await new Promise<void>((resolve) => {
        this.arrived = resolve;
        if (timeout !== undefined)
          timer = this.clock.after(Math.min(LONGEST_TIMER, Math.max(0, timeout)), resolve);
      });
      this.clock.cancel(timer);
      this.arrived = undefined;
    }
    return this.messages.splice(0);
  }
}
