/**
 * A Map for what comes and goes all the time.
 *
 * V8's own Map copies its entries into a new table now and then, and the old table points to the new one. Once one of them
 * has grown old, it keeps alive all that was in it, and all tables after it, until the next full collection: half of what a
 * busy process promoted was sagas that had long ended (2.4 kB each). So the Map holds numbers only, and what is given back
 * is let go of at once.
 */
export class SlotMap<Key, Value extends object> {
  private readonly places = new Map<Key, number>();
  private readonly slots: (Value | undefined)[] = [];
  private readonly free: number[] = [];

  get size(): number {
    return this.places.size;
  }

  has(key: Key): boolean {
    return this.places.has(key);
  }

  get(key: Key): Value | undefined {
    const place = this.places.get(key);
    return place === undefined ? undefined : this.slots[place];
  }

  set(key: Key, value: Value): this {
    let place = this.places.get(key);
    if (place === undefined) {
      place = this.free.pop() ?? this.slots.length;
      this.places.set(key, place);
    }
    this.slots[place] = value;
    return this;
  }

  delete(key: Key): boolean {
    const place = this.places.get(key);
    if (place === undefined) return false;
    this.places.delete(key);
    this.slots[place] = undefined;
    this.free.push(place);
    return true;
  }

  keys(): MapIterator<Key> {
    return this.places.keys();
  }

  /** In no particular order; those that are deleted meanwhile are left out. */
  *values(): Generator<Value, void> {
    for (const value of this.slots) if (value !== undefined) yield value;
  }
}
