/** Chance that can be had again from its seed (mulberry32). */
export class Chance {
  constructor(private state: number) {}

  /** 0 to 1. */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  one<T>(items: readonly T[]): T {
    return items[Math.floor(this.next() * items.length)]!;
  }
}
