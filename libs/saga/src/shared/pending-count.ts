/** How much is in progress. Callers can wait until nothing is. */
export class PendingCount {
  private count = 0;
  private waiting: (() => void)[] = [];

  get size(): number {
    return this.count;
  }

  add(more = 1): void {
    this.count += more;
  }

  done(less = 1): void {
    this.count -= less;
    if (this.count > 0 || this.waiting.length === 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves once nothing is in progress. */
  async none(): Promise<void> {
    if (this.count > 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}
