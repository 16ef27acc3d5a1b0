import type { Type } from '@nestjs/common';
import {
  Saga,
  type SagaModuleOptions,
  type SagaTarget,
  SagaValidationError,
  Step,
  WaitFor,
} from '../../../libs/saga/src/index.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

@Saga({ name: 'order' })
class Before {
  @Step() request() {}
  @WaitFor({ signal: 'paid' }) paid(_: unknown, payload: unknown) {
    return payload;
  }
}

/** The same saga after its signal was renamed. */
@Saga({ name: 'order' })
class After {
  @Step() request() {}
  @WaitFor({ signal: 'payment-received' }) paid(_: unknown, payload: unknown) {
    return payload;
  }
}

@Saga({ name: 'order', version: 2 })
class Second extends After {}

/** With one signal that confirms the refund, and with another. */
function refunding(signal: string) {
  @Saga({ name: 'payment' })
  class Payment {
    @Step({ compensate: 'refund', compensationReply: { signal } }) charge() {}
    async refund() {}
    @WaitFor({ signal: 'shipped' }) ship() {}
  }
  return Payment;
}

const start = (sagas: Type[], options: SagaModuleOptions = {}) =>
  apps.start({ sagas, options: { worker: { pollInterval: '10ms' }, ...options } });

/** Orders that wait for `paid`, and whose process is gone; one of them is addressed by its correlation id. */
async function waiting(): Promise<[string, SagaTarget]> {
  const { sagas, close } = await start([Before]);
  const [one, two] = [await sagas.start(Before, {}), await sagas.start(Before, {}, { correlationId: 'o-2' })];
  for (const { id } of [one, two])
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
  await close();
  return [one.id, { saga: Before, correlationId: 'o-2' }];
}

describe('a signal that is renamed below running instances', () => {
  test('is taken by the name that their graph has, and refused by the other, which says so', async () => {
    const targets = (await waiting()).map((target) =>
      typeof target === 'string' ? target : { ...target, saga: 'order' },
    );
    const { sagas } = await start([After], { onDrift: 'warn' });
    for (const target of targets) {
      const renamed = sagas.signal(target, 'payment-received', 1);
      await expect(renamed).rejects.toThrow(SagaValidationError);
      await expect(renamed).rejects.toThrow('No step of order@1 waits for the signal');
      await expect(renamed).rejects.toThrow('Its signals: paid.');
      await sagas.signal(target, 'paid', 'in full');
      expect(await sagas.wait(target)).toMatchObject({ status: 'completed', results: { paid: 'in full' } });
    }
    // Those that start now go by the new graph.
    const later = await sagas.start(After, {});
    await expect(sagas.signal(later.id, 'paid', 1)).rejects.toThrow('Its signals: payment-received.');
    await sagas.signal(later.id, 'payment-received', 2);
    expect((await later.outcome()).results).toEqual({ paid: 2 });
  });

  test('is stored for an instance of a version that this process does not have, by its id and by its correlation id', async () => {
    const [id, { correlationId }] = (await waiting()) as [string, Exclude<SagaTarget, string>];
    const next = await start([Second]);
    for (const target of [id, { saga: Second, correlationId }]) {
      await expect(next.sagas.signal(target, 'payment-received', 1)).rejects.toThrow('Its signals: paid.');
      await next.sagas.signal(target, 'paid', 'in full');
    }
    const { sagas } = await start([Before]);
    for (const target of [id, { saga: Before, correlationId }])
      expect(await sagas.wait(target)).toMatchObject({ status: 'completed', results: { paid: 'in full' } });
  });

  test('that confirms a compensation is a change of the graph, and running instances keep its name', async () => {
    const [Old, New] = [refunding('refunded'), refunding('refund-done')];
    const { sagas, close } = await start([Old]);
    const { id } = await sagas.start(Old, {});
    await until(async () => (await sagas.get(id)).waitingFor?.kind === 'signal');
    await close();
    // It is not affected, so that the process starts.
    const next = await start([New]);
    await expect(next.sagas.signal(id, 'refund-done')).rejects.toThrow('Its signals: refunded, shipped.');
    await next.sagas.signal(id, 'refunded');
    await next.sagas.cancel(id);
    expect((await next.sagas.wait(id)).status).toBe('compensated');
  });
});
