import { getHeapStatistics } from 'node:v8';
import type { Timer } from '../../shared/clock.js';
import type { Claim, ClaimedSaga } from '../ports/saga-store.js';
import type { Lease, StoredSaga } from '../ports/stored-saga.js';
import { SagaCodecError } from '../../errors.js';
import { Trouble, type TroublePorts } from '../observe/trouble.js';
import type { WorkerOptions, WorkerPorts } from './worker-ports.js';

type ClaimerPorts = Pick<
  WorkerPorts,
  'store' | 'writers' | 'recovery' | 'pauses' | 'clock' | 'storeClock' | 'observers' | 'log'
>;

/** The worker that claims. */
export interface ClaimingWorker {
  readonly isRunning: boolean;
  /** Sagas that it can hold at once: those that it runs, and those that wait for a slot. */
  readonly size: number;
  /** Sagas that it can take now. */
  readonly room: number;
  /** Sagas that it holds now. */
  readonly holding: number;
  /** Bytes of the large sagas that it holds. */
  readonly heldBytes: number;
  /** Sets room aside while a claim is in progress. */
  reserveFor<T>(count: number, work: () => Promise<T>): Promise<T>;
  /** Renews its leases that may have ended. False: it failed, and a claim would take the worker's sagas from itself. */
  renewEnded(): Promise<boolean>;
  /** @param claimedAt monotonic time, not after the lease began */
  take(saga: StoredSaga, claimedAt: number): void;
}

/** Sagas that are claimed at once. */
const MOST_CLAIMED = 2_000;
/** While little room is free, claims wait this long (ms) for more. */
const REFILL_WAIT = 5;
/** A due saga whose row was locked (being claimed, watched or edited) is looked for again after this long (ms). */
const SKIPPED_WAIT = 20;
/** The default of `maxHeldBytes`. A method that is called has its own copy of what it is given. */
const HELD_BYTES = Math.min(128 * 2 ** 20, Math.floor(getHeapStatistics().heap_size_limit / 8));
/** The default of `longestWait`. */
const LONGEST_WAIT = 60_000;
/** Claims are at least this far apart (ms), so that many retries that are due one after the other share them. */
const SHORTEST_WAIT = 5;

/** Decides when a worker claims due sagas, and how many: one claim at a time, and few of them under load. */
export class Claimer {
  private claiming: Promise<void> | undefined;
  private again = false;
  private moreDue = false;
  private refill: Timer | undefined;
  private timer: Timer | undefined;
  private timerAt = Infinity;
  /** Large sagas are due for which there was no room. The end of a large one makes room. */
  private heavyLeft = false;
  private largeEnded = 0;
  /** The number of times that the store's clock was set back before the last look at what that left behind. */
  private caughtUp = 0;
  private readonly trouble: Trouble;

  constructor(
    private readonly worker: ClaimingWorker,
    private readonly sagas: readonly ClaimedSaga[],
    private readonly options: Pick<WorkerOptions, 'maxHeldBytes' | 'longestWait'>,
    private readonly lease: Lease,
    private readonly ports: ClaimerPorts,
  ) {
    this.trouble = claimTrouble(ports);
  }

  /** Due sagas wait for room: a new one takes its turn after them. */
  get hasBacklog(): boolean {
    return this.moreDue;
  }

  /** Due sagas wait for room, or may do so. */
  get mayHaveBacklog(): boolean {
    return this.moreDue || this.again;
  }

  /** Claims what is due, now or as soon as the claim in progress has ended. */
  claimSoon(): void {
    if (!this.worker.isRunning || this.sagas.length === 0) return;
    if (this.claiming || this.worker.room <= 0) {
      this.again = true;
      return;
    }
    this.claiming = this.claim().finally(() => {
      this.claiming = undefined;
      if (this.again) {
        this.again = false;
        this.claimSoon();
      }
    });
  }

  /** Claims again once there is room. */
  claimAgain(): void {
    this.again = true;
  }

  /** Under load, claims wait a little until a fair part of the room is free, so that each brings many. */
  claimIfRoom(): void {
    if (!this.mayHaveBacklog || !this.worker.isRunning) return;
    if (this.worker.room >= Math.min(MOST_CLAIMED, this.worker.size / 4) || this.worker.holding === 0) {
      this.again = false;
      this.claimSoon();
    } else {
      this.refill ??= this.ports.clock.after(REFILL_WAIT, () => {
        this.refill = undefined;
        this.claimSoon();
      });
    }
  }

  /** A saga will be due at this time. */
  expect(dueAt: number): void {
    if (dueAt >= this.timerAt || !this.worker.isRunning) return;
    this.ports.clock.cancel(this.timer);
    this.timerAt = dueAt;
    const { longestWait = LONGEST_WAIT } = this.options;
    const wait = Math.min(longestWait, Math.max(SHORTEST_WAIT, dueAt - this.ports.storeClock.now()));
    this.timer = this.ports.clock.after(Math.ceil(wait), () => {
      this.timerAt = Infinity;
      this.claimSoon();
    });
    this.timer.unref();
  }

  /** A large saga does not run here any more. */
  largeOneEnded(): void {
    this.largeEnded += 1;
    if (!this.heavyLeft) return;
    this.heavyLeft = false;
    this.again = true;
  }

  /** Sets no more timers. The worker is not running any more. */
  stop(): void {
    this.ports.clock.cancel(this.timer);
    this.ports.clock.cancel(this.refill);
  }

  /** Resolves once the claim in progress has ended. */
  async settled(): Promise<void> {
    await this.claiming;
  }

  private async claim(): Promise<void> {
    const { worker, ports } = this;
    // While it is in progress, new sagas find room as well: turned away, they would have to be claimed in their turn.
    const limit = Math.min(MOST_CLAIMED, this.moreDue ? worker.room : Math.ceil(worker.room / 2));
    const askedAt = ports.clock.monotonic();
    const { largeEnded } = this;
    try {
      const claimed = await this.claimUpTo(limit);
      // The next tick claims again.
      if (!claimed) return;
      const { sagas, now, nextDueAt, heavy = false, failure } = claimed;
      ports.storeClock.observe(now, askedAt);
      if (failure === undefined) this.trouble.over();
      if (sagas.length > 0) ports.observers.measure('claimed', sagas);
      this.moreDue = nextDueAt !== undefined && nextDueAt <= now && sagas.length >= limit;
      for (const saga of sagas) worker.take(saga, askedAt);
      if (ports.storeClock.setBacks !== this.caughtUp) await this.catchUp();
      if (failure !== undefined) this.trouble.met(failure);
      this.heavyLeft = heavy;
      if (heavy && (sagas.length > 0 || this.largeEnded !== largeEnded)) this.again = true;
      // What was kept free for new sagas is for those that are due.
      if (this.moreDue && worker.room > 0) this.claimIfRoom();
      if (nextDueAt === undefined) return;
      if (nextDueAt > now) this.expect(nextDueAt);
      else if (!this.moreDue) this.expect(now + SKIPPED_WAIT);
    } catch (error) {
      // The next tick claims again.
      this.trouble.met(error);
    }
  }

  /** What was due before the store's clock was set back is due again. */
  private async catchUp(): Promise<void> {
    const { store, storeClock } = this.ports;
    const { setBacks } = storeClock;
    await store.catchUp(this.sagas);
    this.caughtUp = setBacks;
    this.again = true;
  }

  private async claimUpTo(limit: number): Promise<Claim | undefined> {
    const { worker, ports, lease, sagas } = this;
    const held = worker.heldBytes;
    const bytes = { room: (this.options.maxHeldBytes ?? HELD_BYTES) - held, alone: held === 0 };
    return worker.reserveFor(limit, async () => {
      await ports.recovery?.claimable();
      if (!ports.pauses.isKnown) await ports.pauses.known();
      if (!(await worker.renewEnded())) return undefined;
      const claim = await ports.store.claim({ lease, sagas, limit, bytes });
      await ports.writers.took(claim.sagas);
      return claim;
    });
  }
}

/** Claims that fail: while they do, no saga that is due runs here. */
export function claimTrouble(ports: TroublePorts & Pick<ClaimerPorts, 'observers'>): Trouble {
  return new Trouble(
    { ...ports, count: (error) => ports.observers.measure('claimFailed', error) },
    {
      what: 'Claiming',
      // A claim that returns what this process cannot decode still brings the others.
      meanwhile: (error) =>
        error instanceof SagaCodecError
          ? 'The other due sagas run'
          : 'This worker runs no due sagas until a claim succeeds',
    },
  );
}
