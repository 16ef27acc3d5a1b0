import type { CleanedBatch, CleanupBatch, CleanupStore } from 'nestjs-durable-saga/internal/backend';
import { CORRELATION, correlationKey, SAGA } from './contracts.js';
import type { RestateCalls } from './restate-calls.js';

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
    const cleaned = await store.cleanup.batch(batch);
    const left = new Set(store.all);
    const { ingress } = this.calls.options;
    const deleted = rows.filter((row) => !left.has(row));
    if (deleted.length > 0) await this.forget(deleted.map(({ saga }) => saga.id));
    for (const row of deleted) {
      const { id, name, correlationId } = row.saga;
      if (correlationId !== undefined)
        await ingress.client(CORRELATION, correlationKey(name, correlationId)).remove(id, this.calls.opts);
      await ingress.client(SAGA, id).remove(this.calls.opts);
    }
    return cleaned;
  }

  async names(): Promise<string[]> {
    return (await this.calls.amongAll()).cleanup.names();
  }
}
