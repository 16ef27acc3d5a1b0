import {
  type CompensationContext,
  Saga,
  type SagaModuleOptions,
  Step,
  type StepContext,
  SubSaga,
  WaitFor,
} from '../../libs/saga/src/index.js';
import { describeSaga, mermaidOf } from '../../libs/saga/src/diagram.js';
import { until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaHereOn(apps);
const ONCE = { retry: { attempts: 1 }, compensationRetry: { attempts: 1 } } as const;

interface Order {
  sku: string;
  parcels?: string[];
  refused?: boolean;
}

@Saga({ name: 'parcel', ...ONCE })
class Parcel {
  @Step() pack() {
    return 'packed';
  }
}

@Saga({ name: 'place-order', ...ONCE })
class PlaceOrder {
  @Step({ compensate: 'release' }) reserve({ input }: StepContext<Order>) {
    return { reservation: `secret of ${input.sku}` };
  }
  release({ input }: CompensationContext<Order>) {
    if (input.refused) throw Object.assign(new Error('inventory: 503'), { name: 'HttpError' });
  }
  @Step({ forEach: ({ input }) => (input as Order).parcels ?? [], compensate: 'release' })
  weigh({ item, input }: StepContext<Order>): unknown {
    if (input.refused && item === 'b') throw new Error('too\nheavy');
    return item;
  }
  @SubSaga(() => Parcel) parcel() {
    return {};
  }
  @Step() ship() {}
}

@Saga({ name: 'charge', redact: ['card.number'], ...ONCE })
class Charge {
  @Step() ask({ input }: StepContext<{ card: { number: string; holder: string } }>) {
    return { card: input.card };
  }
}

@Saga({ name: 'checkout', redact: ['number'], ...ONCE })
class Checkout {
  @SubSaga(() => Charge) charge({ input }: StepContext<{ number: string }>) {
    return { card: { number: input.number, holder: 'Ann' } };
  }
}

@Saga({ name: 'invoice', ...ONCE })
class Invoice {
  @Step() write() {}
  @WaitFor({ signal: 'paid', timeout: '1h' }) pay() {}
}

const app = (options: SagaModuleOptions = {}) =>
  apps.start({ sagas: [PlaceOrder, Parcel, Invoice, Charge, Checkout], options });

/** Two orders, the second of which is stuck, and an invoice that waits. */
async function shop() {
  const { sagas } = await app();
  const done = await sagas.start(
    PlaceOrder,
    { sku: 'cup', parcels: ['a'] },
    { correlationId: 'order-1', tags: { customer: '7' } },
  );
  await done.outcome();
  const stuck = await sagas.start(
    PlaceOrder,
    { sku: 'pot', parcels: ['a', 'b'], refused: true },
    { correlationId: 'order/2', tags: { customer: '7' } },
  );
  await stuck.outcome();
  const invoice = await sagas.start(Invoice, {});
  await waits(apps, invoice.id);
  return { sagas, done: done.id, stuck: stuck.id, invoice: invoice.id };
}

describe('saga list', () => {
  test('lists the newest first, with where each stands, and its last error', async () => {
    const { done, stuck, invoice } = await shop();
    const { code, out, error } = await run('list');
    const [head, ...lines] = out.trimEnd().split('\n');
    expect([code, error]).toEqual([0, '']);
    expect(head).toMatch(/^ID +SAGA +STATUS +CORRELATION ID +CHANGED +CURRENT STEP +ERROR$/);
    expect(lines.map((line) => line.split(/ {2,}/).slice(0, 3).join(' '))).toEqual([
      `${invoice} invoice@1 running`,
      expect.stringContaining('place-order@1 stuck'),
      expect.stringContaining('parcel@1 completed'),
      `${done} place-order@1 completed`,
    ]);
    expect(lines[1]).toMatch(
      new RegExp(`^${stuck} .*order/2 .*ago .*HttpError: inventory: 503|inventory: 503`),
    );
  });

  test('takes filters, and gives JSON', async () => {
    const { done, stuck } = await shop();
    const ids = async (words: string) => {
      const { code, out } = await run(`list ${words} --json`);
      expect(code).toBe(0);
      return (JSON.parse(out) as { items: { id: string }[] }).items.map(({ id }) => id);
    };
    expect(await ids('place-order')).toEqual([stuck, done]);
    expect(await ids('--status stuck,suspended --tag customer=7')).toEqual([stuck]);
    expect(await ids('--where saga=place-order --where status=completed --where tag.customer=7')).toEqual([
      done,
    ]);
    expect(await ids('--where correlation-id=order-1 --where created-after=1h')).toEqual([done]);
    expect(await ids('--where created-before=2020-01-01')).toEqual([]);
  });

  test('gives a page at a time, and says how to go on', async () => {
    const { invoice } = await shop();
    const first = await run('list --limit 1');
    expect(first.out).toContain(invoice);
    const cursor = /--cursor (\S+)/.exec(first.error)![1]!;
    const second = await run('list --limit 10 --cursor', cursor);
    expect(second.out.trimEnd().split('\n')).toHaveLength(4);
    expect([second.out.includes(invoice), second.error]).toEqual([false, '']);
  });

  test('of nothing says so', async () => {
    await app();
    expect(await run('list')).toEqual({ code: 0, out: '', error: 'No sagas\n' });
  });
});

describe('saga show', () => {
  test('shows where a stuck saga stands, what it waits for, and what went wrong', async () => {
    const { stuck } = await shop();
    const { code, out, error } = await run('show place-order/order/2');
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain(`place-order@1  ${stuck}  stuck\n`);
    for (const pattern of [
      /correlation id +order\/2/,
      /waits for +an operator: step 'weigh\[0\]' needs attention/,
      /failure +error in step 'weigh\[1\]': too heavy/,
      /tags +customer=7/,
      /! weigh\[0\] +compensation_failed +1 attempt, 1 compensation attempt/,
      /HttpError: inventory: 503/,
      /✓ reserve +completed +1 attempt/,
      /✗ weigh\[1\] +failed +1 attempt/,
      /· ship +pending/,
      /Timeline\n.*the saga was started\n/,
      /\+\d+(\.\d+)?m?s +weigh\[1\] failed at attempt 1: too heavy/,
      /compensation of weigh\[0\] failed at attempt 1: inventory: 503/,
    ])
      expect(out).toMatch(pattern);
    // oxlint-disable-next-line no-control-regex -- no colors without a terminal
    expect(out).not.toMatch(/\x1b/);
  });

  test('shows payloads to those only who ask for them', async () => {
    const { done } = await shop();
    const without = await run('show', done);
    expect(without.out).not.toMatch(/secret|cup/);
    const withPayloads = await run('show', done, '--payloads');
    expect(withPayloads.out).toContain('{"sku":"cup","parcels":["a"]}');
    expect(withPayloads.out).toContain('secret of cup');
    expect((await run('show', done, '--json')).out).not.toMatch(/secret|cup/);
    const all = JSON.parse((await run('show', done, '--json', '--payloads')).out) as {
      steps: { name: string }[];
    };
    expect(all).toMatchObject({ id: done, input: { sku: 'cup' }, status: 'completed' });
    expect(all.steps.map(({ name }) => name)).toEqual(['reserve', 'weigh', 'parcel', 'ship']);
  });

  test('never shows what its class, or that of a saga that it started, says is not to be seen', async () => {
    const { sagas } = await app();
    const { id, outcome } = await sagas.start(Checkout, { number: '4711' });
    await outcome();
    const { child } = (await sagas.get(id)).steps[0]!;
    for (const one of [id, child!]) {
      const { out } = await run('show', one, '--payloads');
      expect(out).not.toContain('4711');
      expect(out).toContain('"number":"[redacted]","holder":"Ann"');
      expect((await run('show', one, '--payloads', '--json')).out).not.toContain('4711');
    }
    await apps.sql('DELETE FROM saga.graph');
    expect((await run('show', id, '--payloads')).out).not.toContain('4711');
  });

  test('names the sagas that a saga has started, and that it is part of', async () => {
    const { done, sagas } = await shop();
    const child = (await sagas.get(done)).steps.find(({ name }) => name === 'parcel')!.child!;
    expect((await run('show', done)).out).toContain(`saga ${child}`);
    expect((await run('show', child)).out).toMatch(`part of  saga ${done}, step 'parcel'`);
  });

  test('says until when a signal is waited for', async () => {
    const { invoice } = await shop();
    const { out } = await run('show', invoice);
    expect(out).toMatch(/waits for +the signal 'paid' for step 'pay', until 20\S+Z \(in 59m \d+s\)/);
    expect(out).toMatch(/… pay +waiting/);
  });

  test.each([
    ['00000000-0000-7000-8000-000000000000', 1, /SAGA_NOT_FOUND: No saga has the id/],
    ['place-order/nobody', 1, /SAGA_NOT_FOUND: No saga of 'place-order' has the correlation id 'nobody'/],
    ['nobody', 2, /USAGE: 'nobody' is not a target; give a saga's id, or <saga>\/<correlation id>/],
  ])('of %s ends with %i', async (target, expected, message) => {
    await app();
    const { code, out, error } = await run('show', target);
    expect([code, out]).toEqual([expected, '']);
    expect(error).toMatch(message);
  });
});

describe('saga watch', () => {
  test('tells what happens until the saga completes, and ends with 0', async () => {
    const { sagas } = await app();
    const { id } = await sagas.start(Invoice, {});
    await waits(apps, id);
    const watching = run('watch', id, '--interval', '50ms');
    await until(
      async () => (await apps.sql(`SELECT FROM pg_stat_activity WHERE application_name = 'saga'`)).length > 0,
    );
    await sagas.signal(id, 'paid');
    const { code, out } = await watching;
    expect(code).toBe(0);
    expect(out).toMatch(
      /^invoice@1 .*\n.*the saga was started\n(.*\n)*.*write completed\n(.*\n)*.*the saga completed\n/,
    );
  });

  test('ends with 1 when the saga failed, and prints changes as lines of JSON', async () => {
    const { stuck } = await shop();
    const { code, out } = await run('watch', stuck, '--json');
    expect([code, JSON.parse(out)]).toEqual([1, expect.objectContaining({ id: stuck, status: 'stuck' })]);
  });

  test('ends with 2 when its time is over', async () => {
    const { invoice } = await shop();
    const { code, error } = await run('watch', invoice, '--timeout', '100ms');
    expect([code, error]).toEqual([2, expect.stringMatching(/^saga: SAGA_TIMEOUT: .*It continues\.\n$/)]);
  });
});

describe('saga diagram', () => {
  test('draws the graph that is stored, as the code would', async () => {
    await app({ worker: false });
    const drawn = async (words: string) => (await run(`diagram ${words}`)).out;
    expect((await run('diagram place-order')).out).toBe(mermaidOf(describeSaga(PlaceOrder)));
    expect(await drawn('invoice@1 --direction LR')).toBe(
      mermaidOf(describeSaga(Invoice), { direction: 'LR' }),
    );
    expect(JSON.parse(await drawn('invoice --json'))).toEqual(describeSaga(Invoice));
  });

  test('of one that was never deployed says what is meant', async () => {
    await app({ worker: false });
    expect(await run('diagram place-odrer')).toMatchObject({
      code: 1,
      error: expect.stringContaining(`did you mean 'place-order'?`),
    });
  });
});
