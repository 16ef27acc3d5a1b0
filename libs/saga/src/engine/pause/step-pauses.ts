import type { Clock } from '../../shared/clock.js';
import { isWithin, type StoreClock } from '../../shared/store-clock.js';
import { serializeError } from '../payload/serialize-error.js';
import type { EngineLog } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';
import type { KnownPauses, StepOfSaga, StoredStepPause, WhoAndWhy } from '../ports/step-pause.js';
import type { StoreRetry } from '../write/store-retry.js';

/** A process that resumed a step, and has not made its sagas due after so long (ms), is taken to be gone. */
const LONGEST_RESUME = 10_000;

export interface StepPausesPorts {
  readonly store: Pick<SagaStore, 'pauses' | 'isTransient'>;
  readonly retry: Pick<StoreRetry, 'run'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly storeClock: Pick<StoreClock, 'observe'>;
  readonly log: EngineLog;
  /** The steps of the sagas of these names that are paused are others. */
  readonly changed: (sagas: ReadonlySet<string>) => void;
}

const NONE: ReadonlyMap<string, ReadonlySet<string>> = new Map();

/**
 * The steps that operators have paused, as this process knows them. It reads them once before it begins anything, whenever
 * a process changes one, and with the poll. To ask it costs one comparison while no step is paused.
 */
export class StepPauses implements KnownPauses {
  private bySaga = NONE;
  private pauses: readonly StoredStepPause[] = [];
  private isLoaded = false;
  private reading: Promise<void> | undefined;
  private again = false;

  constructor(private readonly ports: StepPausesPorts) {}

  of(saga: string): ReadonlySet<string> | undefined {
    return this.bySaga === NONE ? undefined : this.bySaga.get(saga);
  }

  /** Whether the pauses have been read. */
  get isKnown(): boolean {
    return this.isLoaded;
  }

  /** Reads them unless they are known. @throws what the store throws */
  async known(): Promise<void> {
    await this.reading;
    if (!this.isLoaded) await this.read();
  }

  /** Reads them before the worker begins. If that fails, the first claim reads them, or the next poll. */
  async start(): Promise<void> {
    this.look();
    await this.reading;
  }

  /** Reads them, now or after the reading in progress. If that fails, the next poll does. */
  look(): void {
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = this.read()
      .catch((error: unknown) => {
        if (!this.ports.store.isTransient(error))
          this.ports.log.warn(`The paused steps could not be read: ${serializeError(error).message}`);
      })
      .finally(() => {
        this.reading = undefined;
        if (!this.again) return;
        this.again = false;
        this.look();
      });
  }

  /** The pauses of the sagas of this name, as this process knows them. */
  async ofSaga(name: string): Promise<readonly StoredStepPause[]> {
    await this.ports.retry.run(() => this.known());
    return this.pauses.filter(({ saga }) => saga === name);
  }

  /** Returns the steps that are paused; and those that were resumed, so many at most, the latest first. */
  async all(resumed: number): Promise<readonly StoredStepPause[]> {
    const { store, retry } = this.ports;
    return (await retry.run(() => store.pauses.all(resumed))).pauses.filter(
      (pause) => resumed > 0 || !pause.resumed,
    );
  }

  async pause(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    const { store, retry } = this.ports;
    await retry.run(() => store.pauses.pause(step, who));
    await retry.run(() => this.read());
  }

  async resume(step: StepOfSaga, who: WhoAndWhy): Promise<void> {
    const { store, retry } = this.ports;
    await retry.run(() => store.pauses.resume(step, who));
    // Before any saga is due: this process would put it to rest again.
    await retry.run(() => this.read());
    await retry.run(() => store.pauses.wake(step));
  }

  /** Resolves once no reading is in progress. */
  async settled(): Promise<void> {
    this.again = false;
    await this.reading;
  }

  private async read(): Promise<void> {
    const { store, clock, storeClock } = this.ports;
    const sentAt = clock.monotonic();
    const { pauses, now } = await store.pauses.all(0);
    storeClock.observe(now, sentAt);
    const before = this.bySaga;
    this.bySaga = namesOf(pauses);
    this.pauses = pauses.filter(({ resumed }) => !resumed);
    this.isLoaded = true;
    const changed = differences(before, this.bySaga);
    if (changed.size > 0) this.ports.changed(changed);
    for (const { saga, step, resumed } of pauses)
      if (resumed && !isWithin(resumed.at, LONGEST_RESUME, now)) await store.pauses.wake({ saga, step });
  }
}

function namesOf(pauses: readonly StoredStepPause[]): ReadonlyMap<string, ReadonlySet<string>> {
  const bySaga = new Map<string, Set<string>>();
  for (const { saga, step, resumed } of pauses) {
    if (resumed) continue;
    const steps = bySaga.get(saga) ?? new Set();
    bySaga.set(saga, steps.add(step));
  }
  return bySaga.size > 0 ? bySaga : NONE;
}

/** The names of the sagas of which other steps are paused now. */
function differences(
  before: ReadonlyMap<string, ReadonlySet<string>>,
  after: ReadonlyMap<string, ReadonlySet<string>>,
): ReadonlySet<string> {
  const changed = new Set<string>();
  for (const saga of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(saga), after.get(saga)];
    if (was?.size !== is?.size || [...(is ?? [])].some((step) => !was!.has(step))) changed.add(saga);
  }
  return changed;
}
