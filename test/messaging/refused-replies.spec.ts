import { Controller, Logger } from '@nestjs/common';
import { Saga, SagaModule, SagaService, Step, WaitFor } from '../../libs/saga/src/index.js';
import { Incoming, type IncomingMessage, SagaReply } from '../../libs/messaging/src/index.js';
import { MemoryServer } from './support/memory-server.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

@Saga({ name: 'order', version: 2 })
class OrderSaga {
  @WaitFor({ signal: 'payment' }) paid(_: object, reply: { charged: number }): number {
    return reply.charged;
  }
  @Step() ship() {}
}

/** The version before, whose signal was renamed. */
@Saga({ name: 'order' })
class EarlierOrderSaga {
  @WaitFor({ signal: 'charged' }) paid() {}
}

const RESULTS: Readonly<Record<string, () => unknown>> = {
  large: () => ({ text: 'x'.repeat(2_000) }),
  bigint: () => ({ charged: 300n }),
  circular: () => {
    const result: { self?: unknown } = {};
    result.self = result;
    return result;
  },
  good: () => ({ charged: 300 }),
};

@Controller()
class Replies {
  @SagaReply('replies', { signal: 'payment' }) reply(
    @Incoming() { payload }: IncomingMessage<{ kind: string }>,
  ): unknown {
    return RESULTS[payload.kind]!();
  }
  @SagaReply('misnamed', { signal: 'paiment' }) misnamed(): unknown {
    return { charged: 300 };
  }
  @SagaReply('renamed', { signal: 'charged' }) renamed(): unknown {
    return { charged: 300 };
  }
}

const { error } = Logger.prototype;
let errors: string[] = [];
beforeEach(() => {
  errors = [];
  Logger.prototype.error = (message: string) => void errors.push(message);
});
afterEach(() => void (Logger.prototype.error = error));

/** A saga that waits for its reply, and what the broker does to bring it one. */
async function waiting() {
  const strategy = new MemoryServer();
  const { nest } = await apps.start({
    messaging: { relay: false },
    imports: [SagaModule.forRoot({ maxPayloadBytes: 1_000 })],
    providers: [OrderSaga, EarlierOrderSaga],
    controllers: [Replies],
    microservice: { strategy },
  });
  const saga = await nest.get(SagaService).start(OrderSaga, {});
  const deliver = (topic: string, kind: string) =>
    strategy.deliver(topic, {
      ...{ id: `reply-${topic}-${kind}`, type: 'Charged', key: saga.id },
      ...{ headers: { 'saga-id': saga.id }, payload: { kind } },
    });
  return { saga, deliver };
}

describe('a reply that would be refused each time', () => {
  test.each([
    ['replies', 'large', 'has a result that cannot be stored'],
    ['replies', 'bigint', 'has a result that cannot be stored'],
    ['replies', 'circular', 'has a result that cannot be stored'],
    ['misnamed', 'good', "did you mean 'payment'?"],
  ])('is acknowledged and logged as an error, once: %s, %s', async (topic, kind, logged) => {
    const { saga, deliver } = await waiting();
    await deliver(topic, kind);
    const [dropped, ...others] = errors;
    expect(dropped).toMatch(new RegExp(`^Reply reply-${topic}-${kind} to saga ${saga.id} .* is dropped: `));
    expect([dropped, others]).toEqual([expect.stringContaining(logged), []]);
    await deliver('replies', 'good');
    expect(await saga.outcome()).toMatchObject({ status: 'completed', results: { paid: 300 } });
  });
});

test('a reply by the name that another version of the saga waits for is left to the broker, and not lost', async () => {
  const { saga, deliver } = await waiting();
  await expect(deliver('renamed', 'good')).rejects.toThrow();
  await deliver('replies', 'good');
  expect((await saga.outcome()).status).toBe('completed');
});
