/**
 * Chance that comes from a seed and from what it is for: to take one thing out of a scenario leaves the chances of all
 * others as they were, so that a failing one can be made smaller.
 */
export class Rng {
  constructor(private readonly seed: number) {}

  /** The same for the same purpose, every time it is asked for. */
  for(...purpose: readonly (string | number)[]): Dice {
    return new Dice(hash(`${this.seed} ${purpose.join(' ')}`));
  }
}

/** Numbers one after the other: mulberry32, by Tommy Ettinger. */
export class Dice {
  constructor(private state: number) {}

  /** 0 to below 1. */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };

  happens(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number, both ends included. */
  int(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /** Most are near `from`, some are far away: as delays are. */
  long(from: number, to: number): number {
    return from + (to - from) * this.next() ** 4;
  }

  among<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  /** One of the names, as often as its weight says. */
  weighed<T extends string>(weights: Readonly<Record<T, number>>): T {
    const entries = Object.entries(weights) as [T, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name;
    return entries.at(-1)![0];
  }
}

/** FNV-1a, with a final mix so that purposes that differ in their last character differ in all. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
