import type { Wakeup, WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import type { MemoryWakeup, MemoryWakeupHub } from '../../libs/saga/src/store/memory/memory-wakeup.js';
import type { Dice } from './rng.js';
import type { Link } from './link.js';
import type { StoreWorld } from './simulated-store.js';
import type { Life } from './timeline.js';

/** LISTEN and NOTIFY as one process has them: late, out of order, twice, or not at all. */
export class SimulatedWakeup implements Wakeup {
  private onMessage: ((message: WakeupMessage) => void) | undefined;
  private readonly ears: MemoryWakeup;

  constructor(
    private readonly world: StoreWorld,
    private readonly life: Life,
    private readonly link: Link,
    private readonly dice: Dice,
    hub: MemoryWakeupHub = world.database.hub,
  ) {
    this.ears = hub.wakeup();
  }

  /** As long as the connection does not seem to be broken. */
  get listening(): boolean {
    const { timeline, database } = this.world;
    return this.onMessage !== undefined && timeline.now >= this.link.cutUntil && !database.isDown;
  }

  async start(onMessage: (message: WakeupMessage) => void): Promise<void> {
    this.onMessage = onMessage;
    await this.ears.start((message) => this.heard(message));
  }

  announceDue(): void {
    if (!this.life.call() || !this.listening) return;
    const delay = this.dice.long(...this.world.weather.delay);
    this.world.timeline.after(delay, () => this.ears.announceDue());
  }

  async stop(): Promise<void> {
    this.onMessage = undefined;
    await this.ears.stop();
  }

  /** A new connection listens; what was said before it did is lost. */
  reconnected(): void {
    this.deliver({ type: 'missed' });
  }

  private heard(message: WakeupMessage): void {
    const { timeline, weather, database } = this.world;
    if (!this.link.hears(timeline.now) || database.isDown || this.dice.happens(weather.hintsLost)) return;
    this.deliver(message);
    if (this.dice.happens(0.02)) this.deliver(message);
  }

  private deliver(message: WakeupMessage): void {
    const delay = this.dice.long(...this.world.weather.delay);
    this.world.timeline.after(delay, () => this.onMessage?.(message), this.life);
  }
}
