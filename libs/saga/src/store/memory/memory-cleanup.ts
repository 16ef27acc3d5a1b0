import type {
  CleanedBatch,
  CleanupBatch,
  CleanupPlace,
  CleanupStore,
} from '../../engine/ports/cleanup-store.js';
import type { MemoryRow } from './memory-row.js';
import type { MemoryRows } from './memory-rows.js';

/** The deletion of sagas that have ended. */
export class MemoryCleanup implements CleanupStore {
  constructor(
    private readonly rows: MemoryRows,
    private readonly now: () => number,
  ) {}

  async ready(): Promise<boolean> {
    return true;
  }

  async batch({ name, age, most, after, dryRun }: CleanupBatch): Promise<CleanedBatch> {
    const old = [...this.rows.among(new Set([name]))]
      .filter(
        ({ saga }) => !saga.parent && saga.finishedAt !== undefined && saga.finishedAt <= this.now() - age,
      )
      .sort((one, other) => inOrder(placeOf(one), placeOf(other)))
      .filter((row) => !after || inOrder(placeOf(row), after) > 0);
    const looked = old.slice(0, most);
    const families = looked.map((root) => this.rows.familyOf(root));
    const ended = families
      .filter((family) => family.every(({ saga }) => saga.finishedAt !== undefined))
      .flat();
    if (!dryRun) for (const row of ended) this.rows.delete(row);
    const last = looked.at(-1);
    return { gone: ended.length, ...(last && looked.length === most && { next: placeOf(last) }) };
  }

  async names(): Promise<string[]> {
    return this.rows.names;
  }
}

function placeOf({ saga }: MemoryRow): CleanupPlace {
  return { at: String(saga.finishedAt), id: saga.id };
}

function inOrder(one: CleanupPlace, other: CleanupPlace): number {
  return Number(one.at) - Number(other.at) || (one.id < other.id ? -1 : Number(one.id > other.id));
}
