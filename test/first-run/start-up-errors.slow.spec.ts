import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { type Compiler, SampleProject } from './support/sample-project.js';
import { shop, typeOrm } from './support/sample-shop.js';

const project = SampleProject.make();
let database: TestDatabase;
let page: string;

beforeAll(async () => {
  database = await createTestDatabase();
  page = await readFile(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8');
});
afterAll(() => database.drop());

interface Slip {
  readonly program?: string;
  readonly compiler?: Compiler;
  /** DATABASE_URL, made of the right one. */
  readonly url?: (right: string) => string | undefined;
  /** With the machine: which user it has, and what libpq's variables say. */
  readonly varies?: true;
}

async function run({ program = shop(), compiler, url = (right) => right }: Slip) {
  return project().run(program, { compiler, env: { DATABASE_URL: url(database.url), PGUSER: undefined } });
}

/** What stands in the page's blocks, and between backticks. */
function messagesOf(text: string): string[] {
  const blocks = [...text.matchAll(/^```text\n(.*)\n```$/gm)].map(([, block]) => block!);
  return [...blocks, ...[...text.matchAll(/(?<!`)`([^`\n]+)`/g)].map(([, words]) => words!)];
}

/**
 * What a program said before it ended, as it stands in the documentation: the error's line, of whatever shop
 * it is.
 */
function messageOf(said: string): string {
  const [, line] =
    /^(?:\[Nest\].*\[ExceptionHandler\] )?((?:\w*(?:Error|Exception)(?: \[Error\])?|error): .*)$/m.exec(
      said,
    ) ?? [];
  return (line ?? `no error, but: ${said}`)
    .replaceAll(/test_[0-9a-f]{16}/g, 'shop')
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:5432')
    .replaceAll(/role '[^']*'/g, `role 'postgres'`);
}

test('the shop that the others are slips of sells', async () => {
  expect(await run({})).toMatchObject({ code: 0, said: expect.stringContaining('order completed') });
});

const SLIPS: readonly [string, RegExp, Slip][] = [
  [
    'TypeOrmModule is missing',
    /no TypeORM DataSource\. Import/,
    { program: shop({ imports: ['SagaModule.forRoot()'] }) },
  ],
  [
    'the DataSource has a name',
    /There is 'shop': give/,
    { program: shop({ imports: [typeOrm(`name: 'shop'`), 'SagaModule.forRoot()'] }) },
  ],
  [
    'the DataSource has no name, and one was given',
    /named 'shop'\. There is the default one/,
    { program: shop({ imports: [typeOrm(), `SagaModule.forRoot({ dataSource: 'shop' })`] }) },
  ],
  [
    'the DataSource is not connected',
    /manualInitialization/,
    { program: shop({ imports: [typeOrm('manualInitialization: true'), 'SagaModule.forRoot()'] }) },
  ],
  ['SagaModule is missing', /SagaService/, { program: shop({ imports: [typeOrm()] }) }],
  [
    'SagaModule is imported twice',
    /imported 2 times/,
    { program: shop({ imports: [typeOrm(), 'SagaModule.forRoot()', 'SagaModule.forRoot()'] }) },
  ],
  [
    'SagaModule is imported without options',
    /imported without options/,
    { program: shop({ imports: [typeOrm(), 'SagaModule'] }) },
  ],
  [
    'what the saga injects is provided nowhere',
    /StockService at index \[0\]/,
    { program: shop().replace('[PlaceOrderSaga, StockService]', '[PlaceOrderSaga]') },
  ],
  [
    'the saga is provided nowhere',
    /PlaceOrderSaga .* No module provides it/,
    { program: shop().replace('[PlaceOrderSaga, StockService]', '[StockService]') },
  ],
  [
    'the class is not decorated',
    /Decorate the class with @Saga\(\)/,
    { program: shop().replace('@Saga()', '@Injectable()') },
  ],
  ['esbuild, or tsx, left no types for injection', /parameter 0 .* esbuild/, { compiler: 'esbuild' }],
  [
    'decorators are compiled as standard ones',
    /experimentalDecorators/,
    { compiler: 'esbuild without experimentalDecorators' },
  ],
  ['DATABASE_URL is not set', /user name|password|ECONNREFUSED/, { url: () => undefined, varies: true }],
  ['no server is there', /ECONNREFUSED/, { url: () => 'postgres://postgres@127.0.0.1:1/shop' }],
  ['no such host', /ENOTFOUND/, { url: () => 'postgres://postgres@db.invalid/shop' }],
  [
    'the password is wrong',
    /password authentication/,
    { url: (right) => right.replace(/:[^:@/]+@/, ':wrong@') },
  ],
  ['the database is not there', /does not exist/, { url: (right) => right.replace(/\/[^/]*$/, '/shop') }],
  [
    'the connection is read-only',
    /read-only by default/,
    {
      program: shop({
        imports: [
          typeOrm(`extra: { options: '-c default_transaction_read_only=on' }`),
          'SagaModule.forRoot()',
        ],
      }),
    },
  ],
];

describe('an application that starts with a slip ends, and says what is wrong as the documentation has it:', () => {
  test.each(SLIPS)('%s', async (_, message, slip) => {
    const { code, said } = await run(slip);
    expect(code).toBe(1);
    expect(messageOf(said)).toMatch(message);
    if (slip.varies !== true) expect(messagesOf(page)).toContain(messageOf(said));
  });
});

describe('what may look like a slip, and is none:', () => {
  test('explicit @Inject() where the compiler leaves no types', async () => {
    const program = shop().replace('constructor(', 'constructor(@Inject(StockService) ');
    expect((await run({ program, compiler: 'esbuild' })).said).toContain('order completed');
  });

  test.each(['ScheduleModule.forRoot()', 'ScheduleModule.forRoot(), ScheduleModule.forRoot()'])(
    'an application with %s',
    async (schedule) => {
      const program = shop({ imports: [typeOrm(), 'SagaModule.forRoot()', schedule] });
      expect((await run({ program })).said).toContain('order completed');
    },
  );

  test('reflect-metadata is imported nowhere: Nest does', async () => {
    expect(shop()).not.toContain('reflect-metadata');
    expect((await run({})).said).toContain('order completed');
  });
});

describe('an application without enableShutdownHooks()', () => {
  const waits = `await new Promise((resolve) => setTimeout(resolve, 5_500));`;
  const HINT =
    /This process does not handle SIGTERM.*\(after 30 s\)\. Call app\.enableShutdownHooks\(\) in main\.ts\./;

  test('receives a warning about them once it runs', async () => {
    const { said } = await run({ program: shop({ after: waits }) });
    const [hint] = HINT.exec(said) ?? [];
    expect(messagesOf(page)).toContain(hint);
  });

  test('receives no warning when it has them', async () => {
    const { said } = await run({ program: shop({ after: `app.enableShutdownHooks();${waits}` }) });
    expect(said).toContain('order completed');
    expect(said).not.toMatch(HINT);
  });

  test.each([
    ['leaves its sagas to other workers once its leases expire', '', true],
    ['with them releases them immediately', 'app.enableShutdownHooks();', false],
  ])('%s, on SIGTERM', async (_, hooks, leased) => {
    const after = `${hooks}
      const slow = await app.get(SagaService).start(PlaceOrderSaga, { slow: true });
      console.log('id=' + slow.id);
      await new Promise((resolve) => setTimeout(resolve, 500));
      process.kill(process.pid, 'SIGTERM');
      await new Promise((resolve) => setTimeout(resolve, 10_000));`;
    const program = shop({ after })
      .replace('reserveStock()', 'async reserveStock({ signal }: { signal: AbortSignal })')
      .replace(
        'return this.stock',
        `await new Promise((_, stop) => signal.addEventListener('abort', stop));\n return this.stock`,
      )
      .replace('SagaModule.forRoot()', `SagaModule.forRoot({ worker: { shutdownTimeout: 100 } })`);
    const { signal, said } = await run({ program });
    expect(signal).toBe('SIGTERM');
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query('SELECT status, locked_by FROM saga.instance WHERE id = $1', [
      /id=(\S+)/.exec(said)?.[1],
    ]);
    await client.end();
    const worker: unknown = leased ? expect.any(String) : null;
    expect(rows).toEqual([{ status: 'running', locked_by: worker }]);
  });
});
