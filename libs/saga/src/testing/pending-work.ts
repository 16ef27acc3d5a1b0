import { SagaError, type StepAbortedError } from '../errors.js';
import type { Life } from './virtual-time.js';

/** The default of `SagaTest.patience()` (ms). */
export const SETTLE_PATIENCE = 30_000;
/** How long (ms) before it is logged what a run waits for: Jest and Vitest end a test after 5 s, and name nothing. */
const LOGGED_AFTER = 3_000;

/** A run of a `SagaTest` waits for a method that does not settle, and only real time passes. */
export class SagaTestHangError extends SagaError {
  readonly code = 'SAGA_TEST_HANG';
}

/** Real time, and the CPU time of this thread: on a busy machine, or in a debugger, time passes in which nothing has its turn. */
export class RealTime {
  private readonly began = performance.now();
  private readonly cpu = cpuUsage();

  /** Milliseconds of real time. */
  get passed(): number {
    return performance.now() - this.began;
  }

  /** Milliseconds of real time in which this thread had its turn. */
  get used(): number {
    const { user, system } = cpuUsage(this.cpu);
    return Math.min(this.passed, (user + system) / 1_000);
  }
}

/**
 * The CPU time of this thread, because a test runner may run other tests in other threads. Before Node 22.19, only that of
 * the process is known.
 */
const cpuUsage: typeof process.cpuUsage = (before) =>
  process.threadCpuUsage ? process.threadCpuUsage(before) : process.cpuUsage(before);

/** Code of the user that was called. */
interface Work {
  /** As an error names it. */
  readonly what: string;
  /** For a method of a saga: its process and its signal. */
  readonly call?: { readonly life: Life; readonly signal: AbortSignal };
}

/** The calls of the user's code that have not settled. Virtual time waits for them, and a run that does nothing else ends. */
export class PendingWork {
  private readonly since = new Map<Work, RealTime>();
  private isLogged = false;

  /** @param patience milliseconds of real time */
  constructor(private readonly patience: number) {}

  get size(): number {
    return this.since.size;
  }

  /** Something waits for a call. */
  get isAwaited(): boolean {
    return this.awaited() !== undefined;
  }

  async during<T>(work: Work, call: () => T): Promise<Awaited<T>> {
    this.since.set(work, new RealTime());
    try {
      return await call();
    } finally {
      this.since.delete(work);
    }
  }

  /** Nothing waits for a call any more that has timed out, or whose process has crashed. */
  forgetEnded(): void {
    for (const work of this.since.keys()) if (!isAwaited(work)) this.since.delete(work);
  }

  /** @throws SagaTestHangError if a call has not settled for longer than the patience */
  requireProgress(): void {
    const oldest = this.awaited();
    if (!oldest) return;
    const [{ what }, time] = oldest;
    if (time.used >= this.patience)
      throw new SagaTestHangError(
        `${what} has not settled for ${this.patience / 1_000} s of real time, and the run waits for it. Let it settle, ` +
          `or give the step a \`timeout\`, which passes in virtual time. If it needs longer, call patience() of the SagaTest.`,
      );
    if (this.isLogged || time.passed < LOGGED_AFTER) return;
    this.isLogged = true;
    // Test runners show it with the test. The Nest application of a SagaTest has no logger.
    console.warn(
      `SagaTest: ${what} has not settled for ${LOGGED_AFTER / 1_000} s of real time. The run waits for it.`,
    );
  }

  private awaited(): readonly [Work, RealTime] | undefined {
    for (const entry of this.since) if (isAwaited(entry[0])) return entry;
    return undefined;
  }
}

function isAwaited({ call }: Work): boolean {
  if (!call) return true;
  if (!call.life.isAlive) return false;
  const { trigger } = (call.signal.reason ?? {}) as Partial<StepAbortedError>;
  return trigger !== 'timeout' && trigger !== 'heartbeat';
}
