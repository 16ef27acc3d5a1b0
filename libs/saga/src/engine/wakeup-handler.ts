import type { OverdueWatch } from './observe/overdue-watch.js';
import type { SlotWatch } from './worker/slot-watch.js';
import type { Wakeup, WakeupMessage } from './ports/wakeup.js';
import type { BlockedSlots } from './worker/blocked-slots.js';
import type { OutcomeWaiters } from './worker/outcome-waiters.js';
import type { SagaWatchers } from './worker/saga-watchers.js';
import type { StepPauses } from './pause/step-pauses.js';
import type { Worker } from './worker/worker.js';

/** With hints arriving, the poll that is the guarantee against lost ones runs at every fifth tick only. */
const TICKS_BETWEEN_POLLS = 5;
/**
 * The paused steps are read at another tick than the rest. One connection is enough for both, and the database answers more
 * evenly: a process notices a failover by an answer, and asks a question only for that if none is on its way.
 */
const TICK_OF_PAUSES = 2;

export interface WakeupHandlerPorts {
  readonly wakeup: Wakeup;
  /** Undefined: this process runs no sagas. */
  readonly worker: Pick<Worker, 'claimSoon' | 'claim' | 'look' | 'isRunning'> | undefined;
  readonly waiters: Pick<OutcomeWaiters, 'waitsForOthers' | 'poll' | 'left'>;
  readonly watchers: Pick<SagaWatchers, 'hint'>;
  readonly overdue: Pick<OverdueWatch, 'look'>;
  readonly pauses: Pick<StepPauses, 'look'>;
  readonly slots: Pick<SlotWatch, 'look'>;
  /** Undefined: this process runs no sagas. */
  readonly blocked: Pick<BlockedSlots, 'look'> | undefined;
}

/** Passes hints on to the worker and to the calls that wait for outcomes, and polls for what lost hints announced. */
export class WakeupHandler {
  private ticks = 0;
  private isStarted = false;

  constructor(private readonly ports: WakeupHandlerPorts) {}

  async start(): Promise<void> {
    await this.ports.wakeup.start((message) => this.handle(message));
    this.isStarted = true;
  }

  /** The scheduled poll. */
  tick(): void {
    this.ticks += 1;
    this.ports.blocked?.look();
    const tick = this.ports.wakeup.listening ? this.ticks % TICKS_BETWEEN_POLLS : undefined;
    if (tick === undefined || tick === TICK_OF_PAUSES) this.ports.pauses.look();
    if (!tick) void this.poll();
  }

  /** Announces a saga that may be due to the worker of this process and to other processes. */
  announceDue(): void {
    this.ports.worker?.claimSoon();
    this.ports.wakeup.announceDue();
  }

  private handle(message: WakeupMessage): void {
    const { worker, waiters, watchers } = this.ports;
    if ('id' in message) watchers.hint(message.id);
    if (message.type === 'due') worker?.claimSoon();
    else if (message.type === 'missed') this.missed();
    else if (message.type === 'pauses') this.ports.pauses.look();
    else if (message.type === 'look') worker?.look(message.id);
    else if (message.type === 'settled') waiters.left(message.id);
  }

  /** The start of the engine looks at everything by itself. */
  private missed(): void {
    if (!this.isStarted) return;
    this.ports.pauses.look();
    void this.poll();
  }

  /** A process with nothing to do needs one connection for it, and not one for each question. */
  private async poll(): Promise<void> {
    const { worker, waiters, overdue, slots } = this.ports;
    if (waiters.waitsForOthers) waiters.poll();
    await worker?.claim();
    if (worker?.isRunning === false) return;
    overdue.look();
    slots.look();
  }
}
