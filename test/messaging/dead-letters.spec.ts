import { jest } from '@jest/globals';
import { Controller, Logger } from '@nestjs/common';
import {
  DurableEvent,
  type DurableEventOptions,
  Incoming,
  type IncomingMessage,
} from '../../libs/messaging/src/index.js';
import { MemoryServer } from './support/memory-server.js';
import { MessagingApps } from './support/messaging-apps.js';

const apps = MessagingApps.onOwnDatabase();

/** The payloads that each handler was called with. */
let calls: unknown[] = [];
beforeEach(() => void (calls = []));

function handle({ payload }: IncomingMessage): void {
  calls.push(payload);
  if ((payload as { poison?: boolean } | null)?.poison) throw new Error('no such\u0007 account');
}

@Controller()
class Payments {
  @DurableEvent('payments', { attempts: 3 }) pay(@Incoming() message: IncomingMessage): void {
    handle(message);
  }
  @DurableEvent('endless') endless(@Incoming() message: IncomingMessage): void {
    handle(message);
  }
  @DurableEvent('refunds.*', { attempts: 1, deadLetters: 'refunds-dead' })
  refund(@Incoming() message: IncomingMessage): void {
    handle(message);
  }
}

const envelope = (id: string, payload: unknown) => ({
  ...{ id, type: 'Charge', key: 'k-1', headers: { tenant: 't' }, payload },
});
const poison = (id: string) => envelope(id, { poison: true });

async function started() {
  const strategy = new MemoryServer();
  const app = await apps.start({
    messaging: { relay: false },
    controllers: [Payments],
    microservice: { strategy },
  });
  /** True: it is acknowledged. */
  const deliver = (topic: string, message: unknown) =>
    strategy.deliver(topic, message).then(
      () => true,
      () => false,
    );
  return { ...app, deliver };
}

const letters = () =>
  apps.sql(
    `SELECT aggregatetype AS topic, aggregateid AS key, type, payload, headers - 'traceparent' AS headers FROM saga.outbox`,
  );

describe('a message whose handler fails each time', () => {
  test('is acknowledged after its attempts, and published to the topic of dead letters with what it was and why', async () => {
    const { deliver } = await started();
    const acknowledged = [];
    for (let n = 0; n < 3; n += 1) acknowledged.push(await deliver('payments', poison('m-1')));
    expect(acknowledged).toEqual([false, false, true]);
    expect(await letters()).toEqual([
      {
        ...{ topic: 'payments.dead', key: 'k-1', type: 'Charge', payload: { poison: true } },
        headers: {
          tenant: 't',
          'dead-letter-topic': 'payments',
          'dead-letter-id': 'm-1',
          'dead-letter-error': 'no such  account',
        },
      },
    ]);
  });

  test('is counted apart from others, and anew after it was handled or is dead', async () => {
    const { deliver } = await started();
    expect(await deliver('payments', poison('m-1'))).toBe(false);
    expect(await deliver('payments', poison('m-1'))).toBe(false);
    expect(await deliver('payments', poison('m-2'))).toBe(false);
    expect(await deliver('payments', envelope('m-1', {}))).toBe(true);
    expect(await deliver('payments', poison('m-1'))).toBe(false);
    expect(await letters()).toEqual([]);
  });

  test('is known by its content if it has no id, and the log says that it has none', async () => {
    const { deliver } = await started();
    const logged = jest.spyOn(Logger.prototype, 'error');
    const bare = (n: number) => ({ ...poison(''), payload: { poison: true, n } });
    for (const n of [1, 2, 1, 2]) expect(await deliver('payments', bare(n))).toBe(false);
    expect(await deliver('payments', bare(1))).toBe(true);
    expect(await letters()).toMatchObject([{ payload: { n: 1 } }]);
    expect(logged.mock.calls.flat().map(String).join()).toContain(
      "Handling a message without an id of 'payments' failed 3 time(s)",
    );
    logged.mockRestore();
  });

  test('is delivered again without an end unless attempts is set', async () => {
    const { deliver } = await started();
    for (let n = 0; n < 20; n += 1) expect(await deliver('endless', poison('m-1'))).toBe(false);
    expect(calls).toHaveLength(20);
    expect(await letters()).toEqual([]);
  });

  test('goes to the topic that is given', async () => {
    const { deliver } = await started();
    expect(await deliver('refunds.*', poison('m-1'))).toBe(true);
    expect(await letters()).toMatchObject([{ topic: 'refunds-dead' }]);
  });

  test('is delivered again while its dead letter cannot be stored, and nothing is lost', async () => {
    const { deliver } = await started();
    await apps.sql('ALTER TABLE saga.outbox RENAME TO outbox_away');
    for (let n = 0; n < 5; n += 1) expect(await deliver('payments', poison('m-1'))).toBe(false);
    await apps.sql('ALTER TABLE saga.outbox_away RENAME TO outbox');
    expect(await deliver('payments', poison('m-1'))).toBe(true);
    expect(await letters()).toHaveLength(1);
  });
});

describe('a handler is refused', () => {
  test.each([
    ['payments', { attempts: 0 }, 'attempts is 0'],
    ['payments', { deadLetters: 'x' }, 'attempts is not'],
    ['payments.#', { attempts: 2 }, 'wildcards'],
    ['payments', { attempts: 2, deadLetters: '' }, 'deadLetters is'],
    ['payments', { attemps: 2 }, "unknown option 'attemps'"],
  ])('of %s with %j', (topic, options, problem) => {
    expect(() => DurableEvent(topic, options as DurableEventOptions)).toThrow(problem);
  });
});
