import type { SagaHandle, SagaTarget, StepContext } from '../../libs/saga/src/index.js';
import { until } from './gate.js';

const LOOPS = 12;
const NAMES = ['payment', 'order', 'account'] as const;

/** Counts how often each step of each saga runs. */
export class StepRuns {
  private readonly counts = new Map<string, number>();

  ran({ sagaId, step }: StepContext<object>): void {
    const key = `${sagaId} ${step}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  /** The number of sagas whose step has run. */
  of(step: string): number {
    return [...this.counts.keys()].filter((key) => key.endsWith(` ${step}`)).length;
  }

  get repeated(): [key: string, count: number][] {
    return [...this.counts].filter(([, count]) => count !== 1);
  }
}

/** A saga of a load, which is to be started. */
export interface LoadedSaga {
  readonly n: number;
  readonly name: (typeof NAMES)[number];
  readonly correlationId: string;
  readonly target: SagaTarget;
  /** Two after another have the same account, so that one waits for the other. */
  readonly input: { readonly account: string };
}

/** Runs sagas in several loops. Each loop runs one after the other. */
export class ShardLoad {
  readonly started: SagaHandle[] = [];
  private count = 0;
  private isOver = false;
  private readonly loops: Promise<void>[] = [];
  private readonly inProgress = new Set<Promise<void>>();
  private readonly starting = new Set<Promise<void>>();

  /** @param runToEnd starts a saga, passes its handle on, and resolves when it has ended */
  constructor(
    private readonly runToEnd: (saga: LoadedSaga, started: (handle: SagaHandle) => void) => Promise<void>,
  ) {
    for (let n = 0; n < LOOPS; n += 1) this.loops.push(this.loop());
  }

  /** Resolves when so many more sagas have started. */
  async goesOn(count: number): Promise<void> {
    const before = this.started.length;
    const failed = Promise.all(this.loops).then(() => true);
    await Promise.race([failed, until(() => this.started.length > before + count)]);
  }

  /** Resolves when the sagas that are in progress have ended. */
  async passed(): Promise<void> {
    await Promise.all(this.inProgress);
  }

  /** Resolves when the starts that are in progress have returned. */
  async startsReturned(): Promise<void> {
    await Promise.all(this.starting);
  }

  /** Resolves when all that was started has ended. */
  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.loops);
  }

  private async loop(): Promise<void> {
    while (!this.isOver) {
      const one = this.one((this.count += 1));
      this.inProgress.add(one);
      await one;
      this.inProgress.delete(one);
    }
  }

  private async one(n: number): Promise<void> {
    const [name, correlationId] = [NAMES[n % NAMES.length]!, `load-${n}`];
    const input = { account: `account-${Math.floor(n / 6) % 8}` };
    const saga = { n, name, correlationId, input, target: { saga: name, correlationId } };
    let returned: () => void;
    const starting = new Promise<void>((resolve) => (returned = resolve));
    this.starting.add(starting);
    const hasReturned = () => {
      this.starting.delete(starting);
      returned();
    };
    const started = (handle: SagaHandle) => {
      this.started.push(handle);
      hasReturned();
    };
    await this.runToEnd(saga, started).finally(hasReturned);
  }
}
