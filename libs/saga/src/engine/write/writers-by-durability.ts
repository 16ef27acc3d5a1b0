import type { Durability } from '../../definition/options/saga-options.js';
import type { GroupWriter } from './group-writer.js';

/** What is written together is committed together, so each durability has a writer of its own, made when it is needed. */
export class WritersByDurability<Item, Result> {
  private readonly writers = new Map<Durability, GroupWriter<Item, Result>>();
  private hastens = false;

  constructor(private readonly make: (durability: Durability) => GroupWriter<Item, Result>) {}

  write(item: Item, durability: Durability): Promise<Result> {
    let writer = this.writers.get(durability);
    if (!writer) {
      writer = this.make(durability);
      this.writers.set(durability, writer);
    }
    const written = writer.write(item);
    if (this.hastens) writer.hasten();
    return written;
  }

  /** As of each of them. */
  hasten(): void {
    this.hastens = true;
    for (const writer of this.writers.values()) writer.hasten();
  }

  /** As of each of them. */
  async close(): Promise<void> {
    this.hasten();
    await Promise.all([...this.writers.values()].map((writer) => writer.close()));
  }
}
