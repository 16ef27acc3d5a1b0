/** So many places at the beginning may be empty before what is behind them moves up. */
const EMPTY_PLACES = 32;

/** First in, first out, at a price that does not depend on how many are in it. What has left is not held any more. */
export class Fifo<T extends object> {
  private items: (T | undefined)[] = [];
  private head = 0;

  get length(): number {
    return this.items.length - this.head;
  }

  /** Undefined: it is empty. */
  get first(): T | undefined {
    return this.items[this.head];
  }

  push(item: T): void {
    this.items.push(item);
  }

  /** Takes the first one out. Undefined: it is empty. */
  shift(): T | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.items[this.head] = undefined;
    this.head += 1;
    if (this.head > EMPTY_PLACES && this.head * 2 > this.items.length) {
      this.items = this.items.slice(this.head);
      this.head = 0;
    }
    return first;
  }

  /** The first one first. */
  all(): T[] {
    return this.items.slice(this.head) as T[];
  }
}
