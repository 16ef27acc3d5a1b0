import type { Clock } from '../../shared/clock.js';
import type { EngineLog } from '../ports/engine-log.js';
import { serializeError } from '../payload/serialize-error.js';

/** How long (ms) a failure for the same reason again stays quiet. */
const QUIET = 30_000;

export interface TroublePorts {
  readonly store: { isTransient(error: unknown): boolean };
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: EngineLog;
  /** Counts it, for metrics. */
  readonly count?: (error: unknown) => void;
}

/** How the log names it. */
export interface TroubleWords {
  /** What fails, as the subject of a sentence: 'Claiming'. */
  readonly what: string;
  /** What does not happen as long as it fails; a sentence without its full stop. */
  readonly meanwhile: string | ((error: unknown) => string);
}

/**
 * Something that is tried again and again, and fails. The first failure is logged at once, later ones of the same kind
 * every half minute, with how long it has lasted. Each is counted.
 */
export class Trouble {
  private failures = 0;
  private since = 0;
  private toldAt = -Infinity;
  private told = '';

  constructor(
    private readonly ports: TroublePorts,
    private readonly words: TroubleWords,
  ) {}

  met(error: unknown): void {
    const { clock, log } = this.ports;
    const { what, meanwhile } = this.words;
    const now = clock.monotonic();
    this.ports.count?.(error);
    if (this.failures === 0) this.since = now;
    this.failures += 1;
    const { message } = serializeError(error);
    if (message === this.told && now - this.toldAt < QUIET) return log.debug(`${what} failed: ${message}`);
    this.told = message;
    this.toldAt = now;
    const lasts = this.failures === 1 ? '' : `, ${this.failures} times in ${seconds(now - this.since)}`;
    const then = typeof meanwhile === 'string' ? meanwhile : meanwhile(error);
    const why = message.replace(/\.$/, '');
    log[this.ports.store.isTransient(error) ? 'warn' : 'error'](`${what} failed${lasts}: ${why}. ${then}`);
  }

  /** Reports that the work has succeeded. */
  over(): void {
    if (this.failures === 0) return;
    const { clock, log } = this.ports;
    log.log(
      `${this.words.what} succeeded again after ${this.failures} failure(s) in ${seconds(clock.monotonic() - this.since)}`,
    );
    this.failures = 0;
    this.told = '';
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
