import type { SagaStore } from '../../libs/saga/src/engine/ports/saga-store.js';
import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import type { StoreSubject } from './store-subject.contract.js';
import { MemorySagaStore } from '../../libs/saga/src/store/memory/memory-saga-store.js';
import { MemoryWakeupHub } from '../../libs/saga/src/store/memory/memory-wakeup.js';

/**
 * A store with a clock of its own.
 * @param around what is tested instead, over it
 */
export async function memorySubject(
  around: (store: SagaStore) => SagaStore = (store) => store,
): Promise<StoreSubject> {
  let now = Date.UTC(2026, 0, 1);
  const hub = new MemoryWakeupHub();
  const messages: WakeupMessage[] = [];
  const listener = hub.wakeup();
  await listener.start((message) => messages.push(message));
  const store = new MemorySagaStore({ now: () => now, wakeup: hub.wakeup() });
  return {
    store: around(store),
    pageBytes: 256 * 1024,
    largestAnswerTo: async (work) => {
      await work();
      return 0;
    },
    graphs: store.graphs,
    messages,
    outbox: async () => store.outbox,
    advance: async (ms) => {
      now += ms;
    },
    cleanup: store.cleanup,
    wakeup: hub.wakeup(),
    close: () => listener.stop(),
  };
}
