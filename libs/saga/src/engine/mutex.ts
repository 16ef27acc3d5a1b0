type Release = () => void;

/** One at a time, in order of arrival. */
export class Mutex {
  private readonly waiting: ((release: Release) => void)[] = [];
  private isTaken = false;

  get isFree(): boolean {
    return !this.isTaken;
  }

  /** Gives the function that lets the next one in: at once if it is free, which costs no promise. */
  acquire(): Release | Promise<Release> {
    if (this.isTaken) return new Promise((resolve) => this.waiting.push(resolve));
    this.isTaken = true;
    return this.once();
  }

  private once(): Release {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.waiting.shift();
      if (next) next(this.once());
      else this.isTaken = false;
    };
  }
}
