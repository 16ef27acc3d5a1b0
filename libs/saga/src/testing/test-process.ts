import type { SagaStore } from '../engine/ports/saga-store.js';
import type { Checkpoint, CheckpointResult } from '../engine/ports/checkpoint.js';
import { stepState } from '../machine/saga-state.js';
import type { Life } from './virtual-time.js';

/** Where a process dies: at a checkpoint, before it is stored or after, counted from 1 or by the step that it records. */
export interface CrashPoint {
  readonly when: 'before' | 'after';
  readonly checkpoint: number | string;
}

/** A process that may die at a checkpoint. Another process continues its sagas. */
export class TestProcess implements Life {
  isAlive = true;
  readonly store: SagaStore;

  constructor(
    store: SagaStore,
    /** Crashes that have not come yet; the first that does is taken out. */
    private readonly crashes: CrashPoint[],
    /** Checkpoints of all processes. */
    private readonly count: { checkpoints: number },
    private readonly onCrash: () => void,
  ) {
    this.store = this.mortal(store);
  }

  stop(): void {
    this.isAlive = false;
  }

  /** The store as this process has it: nothing arrives that it sends after its end, and no answer comes. */
  private mortal(store: SagaStore): SagaStore {
    const own: Partial<SagaStore> = {
      checkpoint: (checkpoints) => this.storing(checkpoints, () => store.checkpoint(checkpoints)),
      transact: (...call) => this.transact(store, ...call),
    };
    return new Proxy(store, {
      get: (target, key: keyof SagaStore) => {
        const member: unknown = Reflect.get(own, key) ?? Reflect.get(target, key);
        if (typeof member !== 'function') return member;
        const method = member as (...args: unknown[]) => unknown;
        return (...args: unknown[]) => {
          if (key === 'isOutage' || key === 'isTransient' || key === 'refuses') return target[key](args[0]);
          return this.isAlive ? this.answered(method.apply(target, args) as Promise<unknown>) : never();
        };
      },
    });
  }

  private transact(
    store: SagaStore,
    ...[work, held]: Parameters<SagaStore['transact']>
  ): Promise<CheckpointResult> {
    let late = false;
    const result = store.transact(async (manager) => {
      const checkpoint = await work(manager);
      const crash = this.crashAt([checkpoint]);
      if (crash === 'before') this.crash();
      if (!this.isAlive) return never();
      late = crash === 'after';
      return checkpoint;
    }, held);
    return result.then((saved) => {
      if (late) this.crash();
      return saved;
    });
  }

  private async storing<T>(checkpoints: readonly Checkpoint[], write: () => Promise<T>): Promise<T> {
    const crash = this.crashAt(checkpoints);
    if (crash === 'before') {
      this.crash();
      return never();
    }
    const result = await write();
    if (crash === 'after') this.crash();
    return result;
  }

  private async answered<T>(answer: Promise<T>): Promise<T> {
    const result = await answer;
    return this.isAlive ? result : never();
  }

  private crashAt(checkpoints: readonly Checkpoint[]): CrashPoint['when'] | undefined {
    this.count.checkpoints += 1;
    const n = this.crashes.findIndex(({ checkpoint }) =>
      typeof checkpoint === 'number'
        ? checkpoint === this.count.checkpoints
        : checkpoints.some((one) => records(one, checkpoint)),
    );
    return n < 0 ? undefined : this.crashes.splice(n, 1)[0]!.when;
  }

  private crash(): void {
    this.stop();
    this.onCrash();
  }
}

function records({ changed, state }: Checkpoint, step: string): boolean {
  if (!changed.includes(step)) return false;
  const { status } = stepState(state, step);
  return status === 'completed' || status === 'compensated';
}

/**
 * Returns a promise that never settles: the result of a call of a process that is gone. Each call returns a promise of its
 * own, because a promise that never settles keeps everything that waits for it.
 */
export function never(): Promise<never> {
  return new Promise<never>(() => undefined);
}
