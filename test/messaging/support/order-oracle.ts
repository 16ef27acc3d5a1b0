/** A message, what became of its transaction, and when, in the order of the publishers' own steps. */
interface Published {
  readonly payload: string;
  readonly key: string;
  readonly transaction: number;
  readonly publishedAt: number;
  /** Undefined: it is open, or was rolled back. */
  committedAt?: number;
}

/**
 * Holds what arrived against what was published. A message was published before another one of its key if its transaction
 * committed before the other one was published, or if both are of one transaction, in which it was first.
 */
export class OrderOracle {
  private readonly published = new Map<string, Published>();
  private readonly discarded = new Set<string>();
  private step = 0;

  publishes(transaction: number, key: string): string {
    const payload = String(this.published.size);
    this.published.set(payload, { payload, key, transaction, publishedAt: (this.step += 1) });
    return payload;
  }

  commits(transaction: number): void {
    this.step += 1;
    for (const message of this.published.values())
      if (message.transaction === transaction) message.committedAt = this.step;
  }

  discards(payload: string): void {
    this.discarded.add(payload);
  }

  /** What was not as promised; empty: nothing. */
  flaws(arrived: readonly string[]): string[] {
    const first = [...new Set(arrived)].map((payload) => this.published.get(payload)!);
    const committed = [...this.published.values()].filter((message) => message.committedAt !== undefined);
    const missing = committed.filter(
      ({ payload }) => !this.discarded.has(payload) && !arrived.includes(payload),
    );
    return [
      ...first
        .filter((message) => message.committedAt === undefined)
        .map((message) => `sent, and not committed: ${shown(message)}`),
      ...missing.map((message) => `forgotten: ${shown(message)}`),
      ...first.flatMap((message, n) =>
        first
          .slice(n + 1)
          .filter((later) => isBefore(later, message))
          .map((later) => `${shown(message)} arrived before ${shown(later)}`),
      ),
    ];
  }
}

function isBefore(one: Published, other: Published): boolean {
  if (one.key !== other.key) return false;
  if (one.transaction === other.transaction) return one.publishedAt < other.publishedAt;
  return one.committedAt !== undefined && one.committedAt < other.publishedAt;
}

const shown = ({ payload, key, transaction, publishedAt, committedAt }: Published): string =>
  `${payload} (key ${key}, transaction ${transaction}, published at ${publishedAt}, committed at ${committedAt})`;
