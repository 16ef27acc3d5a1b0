import { Saga, Step, type StepContext } from '../../../libs/saga/src/index.js';
import { Gate, until } from '../../support/gate.js';
import { TestApps } from '../../support/test-app.js';

const apps = TestApps.onOwnDatabase();

describe('going forward', () => {
  test('each result is durable before the next step starts', async () => {
    const seen: unknown[] = [];
    const recorded = async (id: string) =>
      (
        await apps.sql(
          `SELECT name, status, result FROM saga.step WHERE saga_id = $1 AND status = 'completed' ORDER BY started_at`,
          [id],
        )
      ).map((row) => Object.values(row));
    @Saga({ name: 'order' })
    class Order {
      @Step() async reserve({ sagaId }: StepContext) {
        seen.push(await recorded(sagaId));
        return { id: 7 };
      }
      @Step() async charge({ sagaId, results }: StepContext<unknown, Order>): Promise<number> {
        seen.push(await recorded(sagaId));
        return results.reserve.id + 1;
      }
      @Step() async ship({ sagaId }: StepContext) {
        seen.push(await recorded(sagaId));
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const order = await sagas.start(Order, {});
    expect(await order.outcome()).toEqual({
      id: order.id,
      status: 'completed',
      results: { reserve: { id: 7 }, charge: 8, ship: undefined },
    });
    const [reserve, charge] = [
      ['reserve', 'completed', { id: 7 }],
      ['charge', 'completed', 8],
    ];
    expect(seen).toEqual([[], [reserve], [reserve, charge]]);
  });

  test('inherited steps run in their order, with injected dependencies', async () => {
    class Prices {
      readonly of = () => 5;
    }
    class Base {
      constructor(readonly prices: Prices) {}
      @Step() price() {
        return this.prices.of();
      }
    }
    @Saga({ name: 'order' })
    class Order extends Base {
      // Nest reads the constructor's parameters of the class itself.
      constructor(prices: Prices) {
        super(prices);
      }
      @Step() double({ results }: StepContext<unknown, Order>): number {
        return results.price * 2;
      }
    }
    const { sagas } = await apps.start({ sagas: [Order], providers: [Prices] });
    const { outcome } = await sagas.start(Order, {});
    expect((await outcome()).results).toEqual({ price: 5, double: 10 });
  });
});

describe('what a step returns', () => {
  const VALUES = {
    nothing: undefined,
    null: null,
    date: new Date(0),
    nested: { at: new Date(1), gone: undefined },
  };

  test('is the same live and after a restart: undefined, null, and Dates as their ISO strings', async () => {
    const seen: unknown[] = [];
    const gate = new Gate();
    @Saga({ name: 'order' })
    class Order {
      @Step() nothing() {}
      @Step() null() {
        return VALUES.null;
      }
      @Step() date() {
        return VALUES.date;
      }
      @Step() nested() {
        return VALUES.nested;
      }
      @Step() async look({ results, input, attempt }: StepContext<typeof VALUES, Order>) {
        seen.push(results, input);
        if (attempt === 1) await gate.opened;
      }
    }
    const options = { worker: { shutdownTimeout: 0 } };
    const first = await apps.start({ sagas: [Order], options });
    const { id } = await first.sagas.start(Order, VALUES);
    await until(() => seen.length === 2);
    await first.close();
    const second = await apps.start({ sagas: [Order] });
    const { results } = await second.sagas.wait(id);
    gate.open();
    const stored = {
      null: null,
      date: '1970-01-01T00:00:00.000Z',
      nested: { at: '1970-01-01T00:00:00.001Z' },
    };
    expect(seen).toHaveLength(4);
    for (const n of [0, 2]) {
      expect(seen[n]).toStrictEqual({ nothing: undefined, ...stored });
      expect(seen[n + 1]).toStrictEqual(stored);
    }
    expect(results).toStrictEqual({ nothing: undefined, ...stored, look: undefined });
  });

  test('cannot be changed for others: each gets a copy', async () => {
    @Saga({ name: 'order', retry: { attempts: 2, delay: 1 } })
    class Order {
      @Step() make() {
        return { list: [1] };
      }
      @Step() spoil({ results, input, attempt }: StepContext<{ list: number[] }, Order>): number[] {
        const before = [results.make.list.length, input.list.length];
        results.make.list.push(2);
        input.list.push(2);
        if (attempt === 1) throw new Error('again');
        return before;
      }
      @Step() look({ results, input }: StepContext<{ list: number[] }, Order>): number[] {
        return [results.make.list.length, input.list.length];
      }
    }
    const { sagas } = await apps.start({ sagas: [Order] });
    const input = { list: [0] };
    const { outcome } = await sagas.start(Order, input);
    expect((await outcome()).results).toEqual({ make: { list: [1] }, spoil: [1, 1], look: [1, 1] });
    expect(input).toEqual({ list: [0] });
  });
});
