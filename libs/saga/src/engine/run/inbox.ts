import { LONGEST_TIMER } from '../../definition/options/duration.js';
import type { Clock, Timer } from '../../shared/clock.js';
import { NOTHING } from '../../shared/empty-array.js';

/** Messages for one reader, who takes all that are there at once and waits when there are none. */
export class RunInbox<Message> {
  private messages: Message[] = NOTHING;
  private arrived: (() => void) | undefined;

  constructor(private readonly clock: Clock) {}

  get isEmpty(): boolean {
    return this.messages.length === 0;
  }

  put(message: Message): void {
    if (this.messages === NOTHING) this.messages = [message];
    else this.messages.push(message);
    this.arrived?.();
  }

  /** Resolves once there is a message, but after `timeout` ms at the latest. */
  arrival(timeout?: number): Promise<void> {
    return new Promise((resolve) => {
      if (timeout === undefined) {
        this.arrived = resolve;
        return;
      }
      const bound = Math.min(LONGEST_TIMER, Math.max(0, timeout));
      const timer: Timer = this.clock.after(bound, () => this.arrived?.());
      this.arrived = () => {
        this.clock.cancel(timer);
        resolve();
      };
    });
  }

  /** All that are there. */
  take(): Message[] {
    const { messages } = this;
    this.messages = NOTHING;
    this.arrived = undefined;
    return messages;
  }
}
