import { isMainThread } from 'node:worker_threads';
import type { EngineLog } from '../../engine/ports/engine-log.js';

/** By now (ms) an application that means to listen for signals does. */
const SETTLED = 5_000;

/**
 * Warns of a process that runs sagas and would be ended by SIGTERM where it stands: nothing is lost then, but its sagas
 * wait for its leases to run out. Silent under test runners, whose applications are closed by the tests.
 */
export class ShutdownHint {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly log: EngineLog,
    /** The lease of the worker, in milliseconds. */
    private readonly lease: number,
  ) {}

  start(): void {
    if (!isMainThread || process.env.NODE_ENV === 'test') return;
    this.timer = setTimeout(() => this.look(), SETTLED).unref();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  private look(): void {
    if (process.listenerCount('SIGTERM') > 0) return;
    this.log.warn(
      `This process does not handle SIGTERM, so a deploy stops it without draining its sagas. Other workers take them over ` +
        `only when its leases expire (after ${this.lease / 1_000} s). Call app.enableShutdownHooks() in main.ts.`,
    );
  }
}
