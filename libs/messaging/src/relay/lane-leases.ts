import type { Clock, Timer } from 'nestjs-durable-saga/internal';
import type { OutboxStore, TakenLanes } from 'nestjs-durable-saga/internal/runtime';

/** Renewed after this part of a lease. */
const RENEWED_AFTER = 1 / 3;
/** Nothing starts after this share of a lease, from the time of its request. */
const LEASE_SAFE_SHARE = 0.9;

export interface LaneLease {
  /** Are all of the lanes certainly still ours? */
  isHeld(): boolean;
  release(): void;
}

interface Held {
  readonly lanes: TakenLanes['lanes'];
  /** When it was last asked for. */
  asked: number;
  lost: boolean;
}

/** Renews the leases of the lanes whose messages are in progress, all in one statement. */
export class LaneLeases {
  private readonly held = new Set<Held>();
  private timer: Timer | undefined;
  private stopped = false;

  constructor(
    private readonly outbox: Pick<OutboxStore, 'renew'>,
    /** Milliseconds. */
    private readonly lease: number,
    private readonly clock: Clock,
  ) {}

  /** @param asked when they were asked for, by the clock */
  hold(lanes: TakenLanes['lanes'], asked: number): LaneLease {
    const held: Held = { lanes, asked, lost: false };
    this.held.add(held);
    this.renewLater();
    return {
      isHeld: () => !held.lost && this.clock.monotonic() - held.asked < this.lease * LEASE_SAFE_SHARE,
      release: () => void this.held.delete(held),
    };
  }

  /** The lanes whose messages are in progress. */
  get lanes(): ReadonlySet<number> {
    return new Set([...this.held].flatMap(({ lanes }) => lanes.map(({ lane }) => lane)));
  }

  stop(): void {
    this.stopped = true;
    this.clock.cancel(this.timer);
  }

  private renewLater(): void {
    if (this.stopped || this.timer !== undefined) return;
    this.timer = this.clock.after(this.lease * RENEWED_AFTER, () => {
      this.timer = undefined;
      void this.renew().finally(() => {
        if (this.held.size > 0) this.renewLater();
      });
    });
    this.timer.unref();
  }

  private async renew(): Promise<void> {
    const asked = this.clock.monotonic();
    // Most are settled long before.
    const old = [...this.held].filter((one) => asked - one.asked >= (this.lease * RENEWED_AFTER) / 2);
    if (old.length === 0) return;
    try {
      const mine = new Set(
        await this.outbox.renew(
          old.flatMap(({ lanes }) => lanes),
          this.lease,
        ),
      );
      for (const one of old) {
        if (one.lanes.every(({ lane }) => mine.has(lane))) one.asked = asked;
        // Released meanwhile, or taken over: in either case nothing more starts.
        else one.lost = true;
      }
    } catch {
      // Tried again; meanwhile isHeld() says when it is no longer certain.
    }
  }
}
