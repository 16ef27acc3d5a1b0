import { setTimeout as sleep } from 'node:timers/promises';
import type { Wakeup, WakeupMessage } from 'nestjs-durable-saga/internal/backend';
import { transientWait } from 'nestjs-durable-saga/internal/backend';
import { Opts } from '@restatedev/restate-sdk-clients';
import { HINTS } from './contracts.js';
import type { CallOptions } from './restate-calls.js';

/** Longer than HINTS lets wait. */
const LONGEST_WAIT = 60_000;
const WAITS = { first: 100, longest: 10_000 };

/** Receives the hints for this worker: those of its own process directly, the others from an object that it listens to. */
export class RestateWakeup implements Wakeup {
  listening = false;
  private onMessage: (message: WakeupMessage) => void = () => undefined;
  private readonly ending = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(
    private readonly options: Pick<CallOptions, 'ingress' | 'worker'>,
    /** Offers others what this process was offered. */
    private readonly leave: () => Promise<void>,
  ) {}

  async start(onMessage: (message: WakeupMessage) => void): Promise<void> {
    this.onMessage = onMessage;
    this.loop = this.listen();
  }

  /** To this process. Restate lets others know, by offering the saga to one of them. */
  announceDue(): void {
    this.receive({ type: 'due' });
  }

  /** Passes on what happens in this process. */
  receive(message: WakeupMessage): void {
    if (this.loop && !this.ending.signal.aborted) queueMicrotask(() => this.onMessage(message));
  }

  async stop(): Promise<void> {
    this.ending.abort();
    this.listening = false;
    await Promise.all([this.loop, this.leave()]);
    this.loop = undefined;
  }

  private async listen(): Promise<void> {
    const { signal } = this.ending;
    const { ingress, worker } = this.options;
    let failures = 0;
    while (!signal.aborted) {
      const isHeard = await this.takeHints(signal);
      failures = isHeard ? 0 : failures + 1;
      this.listening = isHeard && !signal.aborted;
      if (isHeard || signal.aborted) continue;
      const wait = transientWait(failures - 1, Math.random(), WAITS);
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    }
    const once = Opts.from<never, never>({ timeout: 1_000 });
    await ingress
      .client(HINTS, worker)
      .remove(once)
      .catch(() => undefined);
  }

  /** Waits for the next hints, and passes them on. False: they cannot be asked for. */
  private async takeHints(signal: AbortSignal): Promise<boolean> {
    const { ingress, worker } = this.options;
    const given = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_WAIT)]);
    const taken = ingress.client(HINTS, worker).take(Opts.from<never, never>({ signal: given }));
    // What came while it did not listen is not known.
    if (!this.listening) this.receive({ type: 'missed' });
    this.listening = true;
    try {
      for (const message of await taken) this.receive(message);
      return true;
    } catch {
      return false;
    }
  }
}
