import type { EngineLog } from '../../engine/ports/engine-log.js';
import type { OutcomeWaiters } from '../../engine/worker/outcome-waiters.js';

/** Milliseconds between two looks at the sagas that hooks wait for. */
const EVERY = 1_000;
/** Looks before a hook that still waits is suspected to wait for this process. */
const SUSPICIOUS = 5;

/** What waits in a process. */
export interface WaitingProcess {
  readonly waiters: Pick<OutcomeWaiters, 'waitsForOthers' | 'poll'>;
}

/**
 * Answers hooks that wait for sagas before the application has started. Nothing runs or listens yet, so that a hook which
 * throws leaves nothing behind; other processes may run these sagas. If only this process can, the hook waits for itself.
 */
export class EarlyWaits {
  private timer: NodeJS.Timeout | undefined;
  private looks = 0;

  constructor(
    private readonly log: EngineLog,
    /** False: this process never runs sagas. */
    private readonly hasWorker: boolean,
  ) {}

  start(process: WaitingProcess): void {
    this.timer = setInterval(() => this.look(process), EVERY).unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look({ waiters }: WaitingProcess): void {
    if (!waiters.waitsForOthers) return;
    waiters.poll();
    this.looks += 1;
    if (this.looks !== SUSPICIOUS || !this.hasWorker) return;
    this.log.warn(
      `outcome() or wait() has waited for ${(SUSPICIOUS * EVERY) / 1_000} s, but this process runs no sagas yet: it ` +
        `starts after the last onApplicationBootstrap hook. Do not await an outcome in a bootstrap hook. In a test, ` +
        `call app.init().`,
    );
  }
}
