/** Counts calls of the application's methods that have not settled, so that a shutdown can wait for them. */
export class WorkInProgress {
  private inProgress = 0;
  private readonly idle: (() => void)[] = [];

  get size(): number {
    return this.inProgress;
  }

  /** Counts this call until it settles. */
  track(call: Promise<unknown>): void {
    this.inProgress += 1;
    const ended = () => this.ended();
    call.then(ended, ended);
  }

  /** Resolves once no call is in progress, after this many milliseconds at the latest. */
  async settledWithin(ms: number): Promise<void> {
    if (this.inProgress === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([new Promise<void>((resolve) => this.idle.push(resolve)), over]);
    clearTimeout(timer);
  }

  private ended(): void {
    this.inProgress -= 1;
    if (this.inProgress === 0) for (const tell of this.idle.splice(0)) tell();
  }
}
