import type { Checkpoint } from '../../engine/ports/checkpoint.js';
import type {
  StepOfSaga,
  StepPauseStore,
  StoredStepPause,
  WhoAndWhy,
} from '../../engine/ports/step-pause.js';
import type { MemoryRow } from './memory-row.js';
import type { MemoryWakeup } from './memory-wakeup.js';
import { storedCopy } from './stored-copy.js';
import { isInProgress } from '../../machine/saga-state.js';

/** Pauses of steps, the oldest first. */
export class MemoryPauses implements StepPauseStore {
  constructor(
    private readonly rows: ReadonlyMap<string, MemoryRow>,
    private readonly wakeup: MemoryWakeup,
    private readonly now: () => number,
    private pauses: readonly StoredStepPause[] = [],
  ) {}

  get stored(): readonly StoredStepPause[] {
    return this.pauses;
  }

  async all(resumed: number): ReturnType<StepPauseStore['all']> {
    const over = this.pauses.filter(({ isOver }) => isOver).reverse();
    const pauses = [...this.pauses.filter(({ isOver }) => !isOver), ...over.slice(0, resumed)];
    return { pauses: storedCopy(pauses), now: this.now() };
  }

  /** The steps that are paused. */
  get names(): StepOfSaga[] {
    return this.pauses.filter(({ resumed }) => !resumed).map(({ saga, step }) => ({ saga, step }));
  }

  isPaused(saga: string, step: string): boolean {
    return this.pauses.some((one) => one.saga === saga && one.step === step && !one.resumed);
  }

  /** One of the steps for which a saga comes to rest is not paused any more. All processes are notified. */
  isResumed(saga: string, { heldBy = [] }: Pick<Checkpoint, 'heldBy'>): boolean {
    if (heldBy.every((step) => this.isPaused(saga, step))) return false;
    this.wakeup.announce({ type: 'pauses' });
    return true;
  }

  async pause({ saga, step }: StepOfSaga, who: WhoAndWhy): Promise<void> {
    if (this.isPaused(saga, step)) return;
    this.pauses = [...this.pauses, { saga, step, paused: { ...who, at: this.now() }, isOver: false }];
    this.wakeup.announce({ type: 'pauses' });
  }

  async resume({ saga, step }: StepOfSaga, who: WhoAndWhy): Promise<void> {
    if (!this.isPaused(saga, step)) return;
    const resumed = { ...who, at: this.now() };
    const isIt = (one: StoredStepPause) => one.saga === saga && one.step === step && !one.resumed;
    this.pauses = this.pauses.map((one) => (isIt(one) ? { ...one, resumed } : one));
    this.wakeup.announce({ type: 'pauses' });
  }

  async wake({ saga, step }: StepOfSaga): Promise<void> {
    const isIt = (one: StoredStepPause) =>
      one.saga === saga && one.step === step && one.resumed !== undefined && !one.isOver;
    if (!this.pauses.some(isIt)) return;
    this.pauses = this.pauses.map((one) => (isIt(one) ? { ...one, isOver: true } : one));
    const now = this.now();
    for (const { saga: stored, step: steps } of this.rows.values()) {
      const { status } = stored.state;
      const waits = stored.name === saga && isInProgress(status) && stored.lockedBy === undefined;
      if (waits && steps.split(', ').includes(step)) stored.dueAt = Math.min(stored.dueAt ?? now, now);
    }
    this.wakeup.announceDue();
  }
}
