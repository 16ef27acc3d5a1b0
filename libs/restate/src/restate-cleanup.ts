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
    const rows = [...store.all];
    const cleaned = await store.cleanup.batch({ ...batch, most: Math.min(batch.most, LARGEST_BATCH) });
    const left = new Set(store.all);
    const deleted = rows.filter((row) => !left.has(row));
    if (deleted.length > 0) await this.forget(deleted.map(({ saga }) => saga.id));
    for (let n = 0; n < deleted.length; n += AT_ONCE)
      await Promise.all(deleted.slice(n, n + AT_ONCE).map((row) => this.remove(row)));
    return cleaned;
  }

  private async remove({ saga: { id, name, correlationId } }: MemoryRow): Promise<void> {
    const { ingress } = this.calls.options;
    if (correlationId !== undefined)
      await ingress.client(CORRELATION, correlationKey(name, correlationId)).remove(id, this.calls.opts);
    await ingress.client(SAGA, id).remove(this.calls.opts);
  }

  async names(): Promise<string[]> {
    return (await this.calls.amongAll()).cleanup.names();
  }
}
