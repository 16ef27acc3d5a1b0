import type { StoreTarget } from '../../engine/ports/saga-store.js';
import type { NewSaga } from '../../engine/ports/stored-saga.js';
import type { MemoryRow } from './memory-row.js';

/** The rows of all sagas, which are found by id and by correlation id. */
export class MemoryRows {
  readonly byId = new Map<string, MemoryRow>();
  /** The ids of sagas that were deleted. */
  readonly deleted = new Set<string>();
  /** By `correlationKey`. */
  readonly byCorrelation = new Map<string, MemoryRow>();
  /** A claim of one name does not look at the rows of all others, of which a long test has thousands. */
  private readonly byName = new Map<string, Set<MemoryRow>>();

  add(row: MemoryRow): void {
    const { id, name, correlationId } = row.saga;
    this.byId.set(id, row);
    if (correlationId !== undefined) this.byCorrelation.set(correlationKey(name, correlationId), row);
    const rows = this.byName.get(name);
    if (rows) rows.add(row);
    else this.byName.set(name, new Set([row]));
  }

  private remove(row: MemoryRow): void {
    const { id, name, correlationId } = row.saga;
    this.byId.delete(id);
    if (correlationId !== undefined) this.byCorrelation.delete(correlationKey(name, correlationId));
    this.byName.get(name)?.delete(row);
  }

  /** Rows among which are all those of sagas with these names, in the order in which they were added. */
  among(names: ReadonlySet<string>): Iterable<MemoryRow> {
    if (names.size > 1) return this.byId.values();
    const [name] = names;
    return (name !== undefined && this.byName.get(name)) || [];
  }

  /** The row with the id, or with the correlation id, of a new saga. */
  conflictOf({ id, name, correlationId }: NewSaga): MemoryRow | undefined {
    const sameId = this.byId.get(id);
    if (sameId || correlationId === undefined) return sameId;
    return this.byCorrelation.get(correlationKey(name, correlationId));
  }

  of(target: StoreTarget): MemoryRow | undefined {
    if ('id' in target) return this.byId.get(target.id);
    const row = this.byCorrelation.get(correlationKey(target.name, target.correlationId));
    if (row) return row;
    // A saga that was given no correlation id has its own id for one.
    const own = this.byId.get(target.correlationId);
    return own?.saga.name === target.name && own.saga.correlationId === undefined ? own : undefined;
  }

  /** Deletes a saga that has ended. It stays known that it was there. */
  delete(row: MemoryRow): void {
    this.remove(row);
    this.deleted.add(row.saga.id);
  }

  /** The names of all sagas that are here. */
  get names(): string[] {
    return [...this.byName.keys()].sort();
  }

  /** A saga with those that it started, and theirs. */
  familyOf(row: MemoryRow): MemoryRow[] {
    const children = [...this.byId.values()].filter(({ saga }) => saga.parent?.id === row.saga.id);
    return [row, ...children.flatMap((child) => this.familyOf(child))];
  }
}

export function correlationKey(name: string, correlationId: string): string {
  return JSON.stringify([name, correlationId]);
}
