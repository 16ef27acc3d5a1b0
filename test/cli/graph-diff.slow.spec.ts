import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { Saga, Step } from '../../libs/saga/src/index.js';
import { until } from '../support/gate.js';
import { passTimeUntil } from '../support/pass-time.js';
import { TestApps } from '../support/test-app.js';
import { saga } from './support/saga-bin.js';

const DIST = fileURLToPath(new URL('dist', import.meta.url));
const apps = TestApps.onOwnDatabase();
const LATER = { delay: '1h' } as const;

@Saga({ name: 'order' })
class Order {
  @Step({ compensate: 'release' }) reserve() {}
  release() {}
  @Step({ ...LATER, compensate: 'refund' }) charge() {}
  refund() {}
  @Step(LATER) ship() {}
}

let folder: string;
beforeAll(async () => {
  await mkdir(DIST, { recursive: true });
  folder = await mkdtemp(join(DIST, 'cli-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A file of an application, compiled as its author would. */
async function compiled(name: string, source: string): Promise<string> {
  const file = join(folder, name);
  const module = name.endsWith('.cjs') ? ts.ModuleKind.CommonJS : ts.ModuleKind.ES2022;
  const compilerOptions = { module, target: ts.ScriptTarget.ES2022, experimentalDecorators: true };
  await writeFile(file, ts.transpileModule(source, { compilerOptions }).outputText);
  return file;
}

const HEAD = `
  import { forwardRef, Module } from '@nestjs/common';
  import { Saga, SagaModule, Step } from 'nestjs-durable-saga';`;
const ORDER = `
  @Saga({ name: 'order' })
  export class Order {
    @Step({ compensate: 'release' }) reserve() {}
    release() {}
    @Step({ compensate: 'refund' }) charge() {}
    refund() {}
    @Step() ship() {}
  }`;

const diff = (file: string, ...more: string[]) => saga(['graph', 'diff', file, '--url', apps.url, ...more]);

/** Orders that stand before charge, and that stand before ship. */
async function orders(before: number, after: number): Promise<void> {
  const app = await apps.start({ sagas: [Order], options: { worker: { pollInterval: '10ms' } } });
  const ids: string[] = [];
  for (let n = 0; n < before + after; n += 1) ids.push((await app.sagas.start(Order, {})).id);
  const stand = async (some: string[], step: string) =>
    (
      await apps.sql('SELECT FROM saga.instance WHERE id = ANY($1) AND step = $2 AND locked_by IS NULL', [
        some,
        step,
      ])
    ).length === some.length;
  await until(() => stand(ids, 'charge'));
  const on = ids.slice(before);
  await passTimeUntil(apps, on, () => stand(on, 'ship'), 'charge');
  await app.close();
}

describe('saga graph diff', () => {
  test('of sagas without stored instances says so, and that no instance is affected', async () => {
    const file = await compiled('new.mjs', HEAD + ORDER);
    const { code, out } = await diff(file, '--schema', 'empty');
    expect([code, out]).toEqual([0, expect.stringContaining(`Schema 'empty' has no graphs`)]);
    await (await apps.start()).close();
    expect(await diff(file)).toMatchObject({ code: 0, out: expect.stringContaining('order@1  new') });
  });

  test('of sagas that are as they were ends with 0, whatever is running', async () => {
    await orders(1, 1);
    const { code, out } = await diff(await compiled('same.mjs', HEAD + ORDER));
    expect([code, out]).toEqual([0, 'order@1  unchanged\n\nTotal: 0 affected, 0 not affected\n']);
  });

  test('shows step handlers and remote steps as well', async () => {
    const source = `
      import { RemoteStep, Saga, StepHandler } from 'nestjs-durable-saga';
      import { Module } from '@nestjs/common';
      class Stock {
        @StepHandler('stock.reserve', { compensate: 'release' }) reserve() {}
        release() {}
      }
      @Saga() class AskingSaga { @RemoteStep('stock.reserve') reserve() {} }
      @Module({ providers: [Stock, AskingSaga] })
      export class AppModule {}`;
    const { code, out } = await diff(await compiled('handlers.mjs', source));
    expect([code, out]).toEqual([
      0,
      'asking@1  new\nhandler:stock.reserve@1  new\n\nTotal: 0 affected, 0 not affected\n',
    ]);
  });

  test('of a renamed step names the differences, and how many running instances they matter to', async () => {
    await orders(3, 2);
    const renamed = HEAD + ORDER.replace('charge()', 'pay()');
    const before = await apps.sql('SELECT * FROM saga.instance ORDER BY id');
    const { code, out } = await diff(await compiled('renamed.mjs', renamed));
    for (const line of [
      'order@1  changed',
      "  step 'charge' was removed",
      "  step 'pay' is new",
      "possible rename: step 'charge' may have been renamed to 'pay'",
      '  running instances: 3 affected, 2 not',
      "step 'charge' is not completed yet, and was removed",
      'Total: 3 affected, 2 not affected',
    ])
      expect(out).toContain(line);
    expect(code).toBe(1);
    expect(await apps.sql('SELECT * FROM saga.instance ORDER BY id')).toEqual(before);
    expect(await apps.sql('SELECT * FROM saga.graph')).toHaveLength(1);
  });

  test('of a new version says how many would move, and why others would not', async () => {
    await orders(2, 1);
    const checked = ORDER.replace(`name: 'order'`, `name: 'order', version: 2, upgradeFrom: 1`)
      .replace('class Order', 'class OrderV2')
      .replace(`@Step({ compensate: 'refund' })`, `@Step() check() {}\n@Step({ compensate: 'refund' })`);
    const alone = await diff(await compiled('upgraded.mjs', HEAD + checked));
    expect(alone.out).toContain('order@2  new');
    expect(alone.out).toContain(
      'from version 1: 2 would move, 1 would stay, and no worker would have their version',
    );
    expect(alone.out).toMatch(
      /stays, [-\w]+: step 'charge' is completed, and in version 2 it comes after 'check', which is not completed/,
    );
    expect([alone.code, alone.out]).toEqual([
      1,
      expect.stringContaining('Total: 1 affected, 2 not affected'),
    ]);
    const both = await diff(await compiled('both.mjs', HEAD + ORDER + checked));
    expect([both.code, both.out]).toEqual([0, expect.stringContaining('Total: 0 affected, 3 not affected')]);
  });

  test('of a version that is left out while it runs says that no worker would have it', async () => {
    await orders(1, 0);
    const next = ORDER.replace(`name: 'order'`, `name: 'order', version: 2`);
    const { code, out } = await diff(await compiled('next.mjs', HEAD + next));
    expect(out).toMatch(/order@1 {2}gone\n.*running instances: 1, and no worker would have their version/);
    expect(code).toBe(1);
  });

  test.each(['app.mjs', 'app.cjs'])(
    'finds the sagas of a root module in %s, and starts nothing',
    async (name) => {
      const module = `
      ${ORDER.replace('export ', '')}
      @Saga() class RefundSaga { @Step() pay() {} }
      @Saga() class ParcelSaga { @Step() send() {} }
      @Module({ providers: [{ provide: 'orders', useClass: Order }] }) class OrderModule {}
      @Module({}) class ParcelModule {}
      @Module({
        imports: [
          forwardRef(() => OrderModule),
          SagaModule.forRoot(),
          Promise.resolve({ module: ParcelModule, providers: [ParcelSaga] }),
        ],
        providers: [RefundSaga],
      })
      export class AppModule {
        constructor() { throw new Error('an application was started'); }
      }
      setInterval(() => undefined, 1_000);`;
      await (await apps.start()).close();
      const { code, out } = await diff(await compiled(name, HEAD + module));
      expect(out.match(/^\w+@1 {2}new$/gm)).toEqual(['order@1  new', 'parcel@1  new', 'refund@1  new']);
      expect(code).toBe(0);
    },
  );

  test('takes the database from DATABASE_URL', async () => {
    await (await apps.start()).close();
    const file = await compiled('url.mjs', HEAD + ORDER);
    const ended = await saga(['graph', 'diff', file], { environment: { DATABASE_URL: apps.url } });
    expect(ended).toMatchObject({ code: 0, error: '' });
  });
});

describe('saga that is called wrongly ends with 2, and says what it takes', () => {
  test.each<[string, () => string[] | Promise<string[]>, RegExp]>([
    ['without a command', () => [], /^$/],
    ['with an unknown one', () => ['graph', 'draw'], /There is no command 'graph draw'[^]*saga --help/],
    ['without a file', () => ['graph', 'diff'], /Give <module file>[^]*saga graph diff <module file>/],
    ['with two', () => ['graph', 'diff', 'a.js', 'b.js'], /'b\.js' is an unexpected argument/],
    [
      'without a database',
      async () => ['graph', 'diff', await compiled('a.mjs', HEAD + ORDER)],
      /--url postgres:\/\/…, or in the variable DATABASE_URL/,
    ],
    ['with an unknown option', () => ['graph', 'diff', 'a.js', '--verbose'], /verbose/],
    [
      'with a file that is not there',
      () => ['graph', 'diff', 'nowhere.js', '--url', apps.url],
      /The file .*nowhere\.js/,
    ],
    [
      'with a file without sagas',
      async () => ['graph', 'diff', await compiled('none.mjs', 'export const a = 1;'), '--url', apps.url],
      /none\.mjs exports neither a saga.*dist\/app\.module\.js/,
    ],
    [
      'with a saga that is wrong',
      async () => [
        'graph',
        'diff',
        await compiled('wrong.mjs', HEAD + ORDER.replace("'refund'", "'refnd'")),
        '--url',
        apps.url,
      ],
      /compensate 'refnd' is not a method of Order/,
    ],
    [
      'with a schema that can be none',
      async () => [
        'graph',
        'diff',
        await compiled('a.mjs', HEAD + ORDER),
        '--url',
        apps.url,
        '--schema',
        'a"b',
      ],
      /--schema 'a"b' is not a valid schema name/,
    ],
  ])('%s', async (_, args, message) => {
    await mkdir(DIST, { recursive: true });
    // Not in the repository itself, whose sources name the address that `saga init` writes.
    const ended = await saga(await args(), { cwd: DIST });
    expect(ended.code).toBe(2);
    expect(ended.error).toMatch(message);
    if (ended.error === '') expect(ended.out).toContain('graph diff <module file>');
  });
});
