import { Logger } from '@nestjs/common';
import {
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  Step,
  type StepContext,
} from '../../../libs/saga/src/index.js';
import { AesGcmCodec } from '../../../libs/saga/src/encryption.js';
import { until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();
const ONCE = { retry: { attempts: 1 }, compensationRetry: { attempts: 1 } } as const;

interface Payment {
  card: { number: string };
  holder: string;
}

@Saga({ name: 'order', redact: ['card.number'], ...ONCE })
class Order {
  @Step({ compensate: 'release' }) reserve() {
    return 'reserved';
  }
  release({ input }: CompensationContext<Payment>) {
    throw new Error(`card ${input.card.number} of ${input.holder}\r\nERROR forged \u001b[31mline`);
  }
  @Step() charge(): void {
    throw new Error('declined');
  }
}

@Saga({ name: 'transfer', onFailure: 'suspend', ...ONCE })
class Transfer {
  @Step() pay(_: StepContext): void {
    throw Object.assign(new Error('terminal is down'), { code: 'E_DOWN' });
  }
}

const INPUT = { card: { number: '4711-0815' }, holder: 'Ann' };

/** What the log says at the level of errors, by Nest's Logger. */
async function logging(options: SagaModuleOptions = {}) {
  const errors: string[] = [];
  const ignore = (): void => undefined;
  const { sagas, operations, nest } = await apps.start({ sagas: [Order, Transfer], options });
  // A process that only looks has nothing to say.
  await apps.start({ sagas: [Order, Transfer], options: { ...options, worker: false } });
  nest.useLogger({
    log: ignore,
    warn: ignore,
    error: (line: unknown) => void errors.push(`${line as string}`),
  });
  /** The process that ran the saga logs once its checkpoint is answered: who waits for the saga may know earlier. */
  const logged = async (count: number): Promise<string[]> => {
    await until(() => errors.length >= count);
    return errors;
  };
  return { sagas, operations, logged };
}

afterEach(() => {
  Logger.overrideLogger(false);
});

describe('a saga that needs an operator is one error in the log, without telemetry', () => {
  test('with where, why and what to do, once for each time that it becomes stuck', async () => {
    const { sagas, operations, logged } = await logging();
    const { id, outcome } = await sagas.start(Order, INPUT);
    expect((await outcome()).status).toBe('stuck');
    const errors = await logged(1);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(
      `Saga ${id} (order@1) is stuck at 'reserve', while compensating: Error: card`,
    );
    for (const command of [`saga show ${id}`, `saga retry ${id}`, `saga resolve ${id} reserve`])
      expect(errors[0]).toContain(`npx ${command}`);
    await operations.retry(id);
    await sagas.wait(id);
    expect(await logged(2)).toHaveLength(2);
  });

  test('without what is redacted, and on one line', async () => {
    const { sagas, logged } = await logging();
    await (await sagas.start(Order, INPUT)).outcome();
    const errors = await logged(1);
    expect(errors[0]).toContain(
      'card [redacted] of Ann\\u000d\\u000aERROR forged \\u001b[31mline. It needs an operator.',
    );
    expect(errors[0]).not.toContain('4711');
    // oxlint-disable-next-line no-control-regex -- none is left
    expect(errors[0]).not.toMatch(/[\u0000-\u001f]/);
  });

  test('also of one that is suspended', async () => {
    const { sagas, logged } = await logging();
    const { id, outcome } = await sagas.start(Transfer, {});
    expect((await outcome()).status).toBe('suspended');
    expect(await logged(1)).toEqual([
      expect.stringContaining(
        `Saga ${id} (transfer@1) is suspended at 'pay': Error (E_DOWN): terminal is down. It needs an operator.`,
      ),
    ]);
  });

  test('without the message of its error, if a codec keeps that unreadable in the database', async () => {
    const codec = new AesGcmCodec({ keys: { k1: Buffer.alloc(32, 1) }, current: 'k1' });
    const { sagas, logged } = await logging({ codec });
    await (await sagas.start(Transfer, {})).outcome();
    expect(await logged(1)).toEqual([
      expect.stringContaining("is suspended at 'pay': Error (E_DOWN). It needs"),
    ]);
  });
});
