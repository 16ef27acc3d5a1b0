import type { Wakeup, WakeupMessage } from '../../engine/ports/wakeup.js';

type Listener = (message: WakeupMessage) => void;

/**
 * LISTEN/NOTIFY for the parts of one process: every wakeup of a hub receives what any of them announces, itself
 * included. Messages arrive in order, and never before the announcer's own code has run on. So no code can rely on a
 * hint that another process would receive later.
 */
export class MemoryWakeupHub {
  private readonly listeners = new Set<Listener>();

  /** Another pair of ears on this hub: one for each engine, and one for the store. */
  wakeup(): MemoryWakeup {
    return new MemoryWakeup(this);
  }

  announce(message: WakeupMessage): void {
    for (const listener of this.listeners) {
      queueMicrotask(() => {
        if (this.listeners.has(listener)) listener(message);
      });
    }
  }

  add(listener: Listener): void {
    this.listeners.add(listener);
  }

  remove(listener: Listener): void {
    this.listeners.delete(listener);
  }
}

/** Hints within one process. It announces without having been started; it receives only once it was. */
export class MemoryWakeup implements Wakeup {
  private listener: Listener | undefined;

  constructor(private readonly hub = new MemoryWakeupHub()) {}

  get listening(): boolean {
    return this.listener !== undefined;
  }

  async start(onMessage: Listener): Promise<void> {
    await this.stop();
    // A function of its own: two wakeups may be given the same one.
    this.listener = (message) => onMessage(message);
    this.hub.add(this.listener);
  }

  announceDue(): void {
    this.announce({ type: 'due' });
  }

  announce(message: WakeupMessage): void {
    this.hub.announce(message);
  }

  async stop(): Promise<void> {
    if (this.listener) this.hub.remove(this.listener);
    this.listener = undefined;
  }
}
