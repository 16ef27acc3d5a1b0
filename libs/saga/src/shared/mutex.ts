import type { Clock, Timer } from './clock.js';

type Release = () => void;

/** One at a time, in order of arrival. */
export class Mutex {
  private waiting: ((release: Release) => void)[] | undefined;
  private isTaken = false;

  get isFree(): boolean {
    return !this.isTaken;
  }

  /** Gives the function that lets the next one in: at once if it is free, which costs no promise. */
  acquire(): Release | Promise<Release> {
    if (this.isTaken) return new Promise((resolve) => (this.waiting ??= []).push(resolve));
    this.isTaken = true;
    return this.once();
  }

  /** Waits for so many milliseconds at most. Undefined: it was not free in time, and the caller has lost its turn. */
  async acquireWithin(bound: number, clock: Clock): Promise<Release | undefined> {
    const turn = this.acquire();
    if (!(turn instanceof Promise)) return turn;
    let timer: Timer | undefined;
    const over = new Promise<undefined>((resolve) => (timer = clock.after(bound, () => resolve(undefined))));
    const release = await Promise.race([turn, over]);
    clock.cancel(timer);
    if (!release) void turn.then((late) => late());
    return release;
  }

  private once(): Release {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      const next = this.waiting?.shift();
      if (next) next(this.once());
      else this.isTaken = false;
    };
  }
}
