/** Milliseconds: no client connects again so soon, so that a broker that answers by then was never away. */
const SOON = 1_000;

/** A send that failed, and whether it turned out to be the message's own failure. */
export interface SuspectFailure {
  isTheMessages: boolean;
}

/**
 * Distinguishes messages that cannot be sent from a broker that is down. A failure is the message's own if the broker
 * accepts others right after it, and none of them failed with it. What fails together is an outage.
 */
export class BrokerWatch {
  private since: { readonly failure: SuspectFailure; readonly at: number }[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The broker took a message, or refused one: it is there. */
  answered(): void {
    const [only, ...others] = this.since;
    if (only && others.length === 0 && this.now() - only.at < SOON) only.failure.isTheMessages = true;
    if (only) this.since = [];
  }

  failed(): SuspectFailure {
    const failure: SuspectFailure = { isTheMessages: false };
    this.since.push({ failure, at: this.now() });
    return failure;
  }
}
