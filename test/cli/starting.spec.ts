import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { IsString } from 'class-validator';
import ts from 'typescript';
import { Approval, Saga, Step, type StepContext, StepHandler, WaitFor } from '../../libs/saga/src/index.js';
import { Gate, until } from '../support/gate.js';
import { TestApps } from '../support/test-app.js';
import { waits } from '../support/waits.js';
import { saga, sagaOn } from './support/saga-bin.js';
import { sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaOn(apps);
const here = sagaHereOn(apps);
const ONCE = { retry: { attempts: 1 } } as const;

interface Order {
  sku: string;
  refused?: boolean;
}

@Saga({ name: 'place-order', timeout: '2h', ...ONCE })
class PlaceOrder {
  @Step() ship({ input }: StepContext<Order>) {
    if (input.refused) throw new Error('no address');
    return input.sku;
  }
}

@Saga({ name: 'place-order', version: 2, timeout: '3h', sla: '1h', ...ONCE })
class PlaceOrderV2 extends PlaceOrder {}

@Saga({ name: 'invoice', ...ONCE })
class Invoice {
  @WaitFor({ signal: 'paid' }) pay(_ctx: StepContext, payload: unknown) {
    return payload;
  }
  @Approval() agree() {}
}

const LOCKED = `
  import { Saga, Step } from 'nestjs-durable-saga';
  @Saga({ name: 'transfer', lockKey: ({ input }) => input.account })
  export class Transfer {
    @Step() move() {}
  }`;

const holding = { gate: new Gate() };
@Saga({ name: 'transfer', lockKey: ({ input }: { input: { account: string } }) => input.account })
class Transfer {
  @Step() async move() {
    await holding.gate.opened;
  }
}

const CHECKED = `
  import { Saga, Step } from 'nestjs-durable-saga';
  const validate = ({ sku }) =>
    typeof sku === 'string' ? { value: { sku: sku.trim() } } : { issues: [{ message: 'no text', path: ['sku'] }] };
  @Saga({ name: 'pack', input: { '~standard': { version: 1, vendor: 'by-hand', validate } } })
  export class Pack {
    @Step() pack() {}
  }`;

const CHECKED_BY_CLASS = `
  import { IsString } from 'class-validator';
  import { Saga, Step } from 'nestjs-durable-saga';
  class Packing {}
  IsString()(Packing.prototype, 'sku');
  @Saga({ name: 'pack', input: Packing })
  export class Pack {
    @Step() pack() {}
  }`;

class Packing {
  @IsString() sku!: string;
}
@Saga({ name: 'pack', input: Packing })
class Pack {
  @Step() pack() {}
}

const key = ({ input }: { input: { tenant: string } }) => input.tenant;
@Saga({
  name: 'metered',
  limit: { count: 1, key },
  rateLimit: { count: 1, per: '1s', key },
  timeout: () => '1h' as const,
  sla: () => '1h' as const,
})
class Metered {
  @Step() work(_ctx: StepContext<{ tenant: string }>) {}
}

class Stock {
  @StepHandler('stock.reserve') reserve() {}
}

const app = () =>
  apps.start({
    sagas: [PlaceOrder, PlaceOrderV2, Invoice, Transfer, Pack, Metered],
    providers: [Stock],
    options: { worker: { pollInterval: '50ms' } },
  });

const idIn = (out: string) => /[0-9a-f-]{36}/.exec(out)![0];

describe('saga start', () => {
  test('starts a saga as its application would, and what its input says is done there', async () => {
    const { sagas } = await app();
    const { code, out } = await run(
      'start place-order',
      '{"sku":"cup"}',
      '--correlation-id',
      'order-1',
      '--tag',
      'customer=7',
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/^Started place-order@2 \S+\n$/)]);
    const id = idIn(out);
    expect(await sagas.wait(id)).toMatchObject({ status: 'completed', results: { ship: 'cup' } });
    expect(await sagas.get(id)).toMatchObject({
      correlationId: 'order-1',
      tags: { customer: '7' },
      version: 2,
    });
    const [row] = await apps.sql(
      'SELECT deadline_at - created_at AS timeout FROM saga.instance WHERE id = $1',
      [id],
    );
    expect(row!.timeout).toMatchObject({ hours: 3 });
    const { slaAt, createdAt } = await sagas.get(id);
    expect(slaAt!.getTime() - createdAt.getTime()).toBe(3_600_000);
  });

  test('with the same correlation id starts nothing, and is refused for another input', async () => {
    await app();
    const first = await here('start place-order', '{"sku":"cup"}', '--correlation-id', 'order-1', '--json');
    const again = await here('start place-order', '{"sku":"cup"}', '--correlation-id', 'order-1', '--json');
    expect(JSON.parse(again.out)).toEqual({ id: JSON.parse(first.out).id, created: false });
    const other = await here('start place-order', '{"sku":"pot"}', '--correlation-id', 'order-1');
    expect([other.code, other.error]).toEqual([1, expect.stringContaining('SAGA_CONFLICT')]);
  });

  test('with --wait ends as the saga does', async () => {
    await app();
    const good = await run('start place-order', '{"sku":"cup"}', '--wait');
    expect([good.code, good.out]).toEqual([0, expect.stringContaining('ship completed')]);
    const bad = await here('start place-order', '{"sku":"cup","refused":true}', '--wait');
    expect([bad.code, bad.out]).toEqual([1, expect.stringContaining('ship failed at attempt 1: no address')]);
  });

  test('takes its input from a pipe, and a version by name', async () => {
    const { sagas } = await app();
    const { out } = await saga(['start', 'place-order@1', '-', '--delay', '1h', '--priority', '7'], {
      input: '{"sku":"cup"}',
      environment: { DATABASE_URL: apps.url },
    });
    expect(await sagas.get(idIn(out))).toMatchObject({
      version: 1,
      input: { sku: 'cup' },
      priority: 7,
      waitingFor: { kind: 'delay' },
    });
  });

  test.each<[string, string[], number, RegExp]>([
    ['an unknown saga', ['place-odrer', '{}'], 1, /SAGA_NOT_FOUND: .*did you mean 'place-order'/],
    ['a version that was never deployed', ['place-order@3', '{}'], 1, /SAGA_NOT_FOUND/],
    ['what is no JSON', ['place-order', 'cup'], 2, /USAGE: <input> is not JSON: .*a string is '"cup"'/],
    ['JSON that a shell took to pieces', ['place-order', '{sku:', 'cup}'], 2, /quote JSON/],
    ['a file that is not there', ['place-order', '@nowhere.json'], 2, /USAGE: <input>: .*nowhere\.json/],
    ['a step handler', ['handler:stock.reserve', '{}'], 1, /is a step handler/],
    ['a wrong option', ['place-order', '{}', '--priority', '700'], 2, /SAGA_VALIDATION: .*priority is 700/],
    [
      'a lockKey without its class',
      ['transfer', '{"account":"a"}'],
      2,
      /lockKey, .*--module dist\/app\.module\.js/,
    ],
    [
      'keys of limits and times that are computed, without the class',
      ['metered', '{"tenant":"a"}'],
      2,
      /metered@1 has limit\.key, rateLimit\.key, a timeout that is computed, an sla that is computed, which only its class contains/,
    ],
    [
      'an input that is checked, without the class that knows how',
      ['pack', '{"sku":"cup"}'],
      2,
      /an input schema, which only its class contains.*--module dist\/app\.module\.js/,
    ],
  ])('refuses %s, and nothing is started', async (_, args, expected, message) => {
    await app();
    const { code, out, error } = await here('start', ...args);
    expect([code, out]).toEqual([expected, '']);
    expect(error).toMatch(message);
    expect(await apps.sql('SELECT FROM saga.instance')).toEqual([]);
  });

  describe('with --module', () => {
    const DIST = fileURLToPath(new URL('dist', import.meta.url));
    let folder: string;
    beforeAll(async () => {
      await mkdir(DIST, { recursive: true });
      folder = await mkdtemp(join(DIST, 'cli-'));
    });
    afterAll(() => rm(folder, { recursive: true }));

    async function compiled(source: string): Promise<string> {
      const file = join(folder, 'app.mjs');
      const compilerOptions = {
        module: ts.ModuleKind.ES2022,
        target: ts.ScriptTarget.ES2022,
        experimentalDecorators: true,
      };
      await writeFile(file, ts.transpileModule(source, { compilerOptions }).outputText);
      return file;
    }

    test('starts a saga with a lockKey, which takes its place in the line', async () => {
      const { sagas } = await app();
      holding.gate = new Gate();
      const held = await sagas.start(Transfer, { account: 'a' });
      const { out } = await run('start transfer', '{"account":"a"}', '--module', await compiled(LOCKED));
      const id = idIn(out);
      await until(async () => (await sagas.get(id)).waitingFor?.kind === 'lock');
      expect((await sagas.get(id)).waitingFor).toEqual({ kind: 'lock', key: 'a', holder: held.id });
      holding.gate.open();
      expect((await sagas.wait(id)).status).toBe('completed');
    });

    test('stores what the schema of a saga makes of its input, and refuses a wrong one', async () => {
      const { sagas } = await app();
      const module = await compiled(CHECKED);
      const wrong = await run('start pack', '{"sku":7}', '--module', module);
      expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining('input.sku: no text')]);
      expect(await apps.sql('SELECT FROM saga.instance')).toEqual([]);
      const { out } = await run('start pack', '{"sku":" cup "}', '--module', module);
      expect((await sagas.get(idIn(out))).input).toEqual({ sku: 'cup' });
    });

    test('checks an input by the class of a saga', async () => {
      await app();
      const module = await compiled(CHECKED_BY_CLASS);
      const wrong = await run('start pack', '{"sku":7}', '--module', module);
      expect([wrong.code, wrong.error]).toEqual([2, expect.stringContaining('input.sku: must be a string')]);
      expect((await run('start pack', '{"sku":"cup"}', '--module', module)).code).toBe(0);
    });

    test('refuses a file whose saga does not check its input any more', async () => {
      await app();
      const module = await compiled(CHECKED.replace(/, input: \{.*\} \} \}\)/, ' })'));
      const { code, error } = await run('start pack', '{"sku":"cup"}', '--module', module);
      expect([code, error]).toEqual([2, expect.stringMatching(/its input is not validated any more/)]);
    });

    test('refuses a file that is not what is deployed', async () => {
      await app();
      const other = await compiled(LOCKED.replace('move()', 'send()'));
      const { code, error } = await run('start transfer', '{"account":"a"}', '--module', other);
      expect([code, error]).toEqual([
        2,
        expect.stringMatching(/differs from the deployed version: step 'move' was removed/),
      ]);
    });
  });
});

describe('saga signal', () => {
  test('tells a saga what it waits for', async () => {
    const { sagas } = await app();
    const { id } = await sagas.start(Invoice, {}, { correlationId: 'invoice-1' });
    const { code, out } = await run(
      'signal invoice/invoice-1 paid',
      '{"amount":7}',
      '--message-id',
      'bank-1',
    );
    expect([code, out]).toEqual([0, "Sent 'paid' to invoice/invoice-1\n"]);
    expect((await here('signal invoice/invoice-1 paid', '{"amount":8}', '--message-id', 'bank-1')).code).toBe(
      0,
    );
    await sagas.approve(id, 'agree', { by: 'bob' });
    expect((await sagas.wait(id)).results).toMatchObject({ pay: { amount: 7 } });
    expect(await here('signal', id, 'paid')).toMatchObject({
      code: 1,
      error: expect.stringContaining('SAGA_STATE'),
    });
  });

  test('of a name that nothing waits for says which is meant', async () => {
    const { sagas } = await app();
    await sagas.start(Invoice, {}, { correlationId: 'invoice-1' });
    const { code, error } = await here('signal invoice/invoice-1 payd');
    expect([code, error]).toEqual([2, expect.stringContaining(`did you mean 'paid'?`)]);
  });
});

describe('saga approve and saga reject', () => {
  test('decide in the name of who is logged in, or of --by', async () => {
    const { sagas } = await app();
    const [good, bad] = [await sagas.start(Invoice, {}), await sagas.start(Invoice, {})];
    for (const { id } of [good, bad]) await sagas.signal(id, 'paid');
    await waits(apps, good.id);
    const approved = await run('approve', good.id, 'agree', '--comment', 'looks good');
    expect([approved.code, approved.out]).toEqual([0, `Approved 'agree' of ${good.id}\n`]);
    expect((await sagas.wait(good.id)).status).toBe('completed');
    const rejected = await run('reject', bad.id, 'agree', '--by', 'bob', '--json');
    expect([rejected.code, JSON.parse(rejected.out)]).toEqual([0, { done: true }]);
    expect(await sagas.wait(bad.id)).toMatchObject({
      status: 'compensated',
      failure: { error: { message: 'Rejected by bob' } },
    });
    const late = await here('approve', bad.id, 'agree');
    expect([late.code, late.error]).toEqual([1, expect.stringContaining('SAGA_STATE')]);
    const none = await here('approve', bad.id, 'pay');
    expect([none.code, none.error]).toEqual([
      2,
      expect.stringContaining(`'pay' is not an approval step of invoice@1`),
    ]);
  });
});
