import assert from 'node:assert/strict';
import { Saga, SagaService, SagaStateError, Step } from 'nestjs-durable-saga';
import { smallApp, soon, until } from './small-app.js';

const happened: string[] = [];
let paying = 0;

/** A booking: the card is charged at the point of no return. */
@Saga({ name: 'booking', retry: { attempts: 3, delay: 10 } })
class BookingSaga {
  @Step({ compensate: 'release' }) hold() {
    happened.push('held');
  }
  release() {
    happened.push('released');
  }
  @Step({ pivot: true }) async pay(): Promise<string> {
    paying += 1;
    await soon(300);
    happened.push('paid');
    return 'receipt';
  }
  @Step() confirm() {
    happened.push('confirmed');
  }
}

/** The customer cancels while the card is charged: the saga goes forward, or it had not charged. */
export async function leadsForwardAfterThePivot(url: string): Promise<void> {
  const apps = await Promise.all([1, 2].map(() => smallApp(url, { providers: [BookingSaga] })));
  try {
    // By the process that runs it, and by another one.
    for (const app of apps) {
      happened.length = 0;
      const before = paying;
      const handle = await apps[0]!.get(SagaService).start(BookingSaga, {});
      await until('the card is charged', () => paying > before);
      await app
        .get(SagaService)
        .cancel(handle.id, { reason: 'changed their mind' })
        .catch((error: unknown) => assert.ok(error instanceof SagaStateError, String(error)));
      const { status } = await handle.outcome({ timeout: '30s' });
      assert.deepEqual([status, ...happened], ['completed', 'held', 'paid', 'confirmed']);
    }
  } finally {
    for (const app of apps) await app.close();
  }
}
