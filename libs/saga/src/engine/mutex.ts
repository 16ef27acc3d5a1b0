/** One at a time, in order of arrival. */
export class Mutex {
  private last: Promise<void> = Promise.resolve();

  /** Resolves with the function that lets the next one in. */
  async acquire(): Promise<() => void> {
    const before = this.last;
    let release!: () => void;
    this.last = new Promise<void>((resolve) => (release = resolve));
    await before;
    return release;
  }
}
