import type { Clock } from './clock.js';
import type { EngineLog } from './engine-log.js';
import type { SagaObservers } from './saga-observers.js';
import type { SagaStore } from './saga-store.js';
import { serializeError } from './serialize-error.js';

/** How long (ms) a claim that fails for the same reason again stays quiet. */
const QUIET = 30_000;

export interface ClaimTroublePorts {
  readonly store: Pick<SagaStore, 'isTransient'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: EngineLog;
  readonly observers: SagaObservers;
}

/**
 * Claims that fail: while they do, nothing that is due is run here. The first failure is logged at once, later ones of the
 * same kind every half minute, with how long it has lasted. Each is counted.
 */
export class ClaimTrouble {
  private failures = 0;
  private since = 0;
  private toldAt = -Infinity;
  private told = '';

  constructor(private readonly ports: ClaimTroublePorts) {}

  met(error: unknown): void {
    const { store, clock, log, observers } = this.ports;
    const now = clock.monotonic();
    observers.claimFailed(error);
    if (this.failures === 0) this.since = now;
    this.failures += 1;
    const { message } = serializeError(error);
    if (message === this.told && now - this.toldAt < QUIET) return log.debug(`Claiming failed: ${message}`);
    this.told = message;
    this.toldAt = now;
    const lasts = this.failures === 1 ? '' : `, ${this.failures} times in ${seconds(now - this.since)}`;
    log[store.isTransient(error) ? 'warn' : 'error'](
      `Claiming failed${lasts}: ${message}. Sagas that are due are not run here until a claim succeeds`,
    );
  }

  /** A claim has succeeded. */
  over(): void {
    if (this.failures === 0) return;
    const { clock, log } = this.ports;
    log.log(
      `Claiming succeeds again, after ${this.failures} failure(s) in ${seconds(clock.monotonic() - this.since)}`,
    );
    this.failures = 0;
    this.told = '';
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
