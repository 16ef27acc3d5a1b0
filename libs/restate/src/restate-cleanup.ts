import type {
  CleanedBatch,
  CleanupBatch,
  CleanupStore,
  MemoryRow,
} from 'nestjs-durable-saga/internal/backend';
import { CORRELATION, correlationKey, SAGA } from './contracts.js';
import type { RestateCalls } from './restate-calls.js';

/** Sagas that are deleted between two looks whether to go on. And so many of them at the same time. */
const LARGEST_BATCH = 500;
const AT_ONCE = 32;

/** Deletes ended sagas: the state of their objects. */
export class RestateCleanup implements CleanupStore {
  constructor(
    private readonly calls: RestateCalls,
    /** Is called before sagas are deleted. */
    private readonly forget: (ids: readonly string[]) => Promise<void>,
  ) {}

  async ready(): Promise<boolean> {
    return true;
  }

  async batch(batch: CleanupBatch): Promise<CleanedBatch> {
    const store = await this.calls.amongAll();
    const all = [...store.all];
    const cleaned = await store.cleanup.batch({ ...batch, most: Math.min(batch.most, LARGEST_BATCH) });
    const left = new Set(store.all);
    const deleted = all.filter((row) => !left.has(row));
    if (deleted.length > 0) await this.forget(deleted.map(({ saga }) => saga.id));
    // A sub-saga is found by its parent only: a pass after one that was interrupted has to find both.
    for (let rows = deleted; rows.length > 0;) {
      const parents = new Set(rows.map(({ saga }) => saga.parent?.id));
      const leaves = rows.filter(({ saga }) => !parents.has(saga.id));
      for (let n = 0; n < leaves.length; n += AT_ONCE)
        await Promise.all(leaves.slice(n, n + AT_ONCE).map((row) => this.remove(row)));
      rows = rows.filter(({ saga }) => parents.has(saga.id));
    }
    return cleaned;
  }

  async names(): Promise<string[]> {
    return (await this.calls.amongAll()).cleanup.names();
  }

  private async remove({ saga: { id, name, correlationId } }: MemoryRow): Promise<void> {
    const { ingress } = this.calls.options;
    if (correlationId !== undefined)
      await ingress.client(CORRELATION, correlationKey(name, correlationId)).remove(id, this.calls.opts);
    await ingress.client(SAGA, id).remove(this.calls.opts);
  }
}
