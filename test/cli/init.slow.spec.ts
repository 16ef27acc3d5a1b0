import { execFile } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { saga } from './support/saga-bin.js';
import { NEST_11, NEST_12, type NestAppFolder, NestApps } from './support/nest-apps.js';

const run = promisify(execFile);
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const apps = NestApps.make();

const init = (app: NestAppFolder, ...args: string[]) => saga(['init', ...args], { cwd: app.path });

/** A program of the application's node_modules, in its folder. */
async function runs(app: NestAppFolder, program: string, ...args: string[]): Promise<string> {
  const { NODE_ENV: _, ...env } = process.env;
  try {
    const options = { cwd: app.path, env: { ...env, NODE_OPTIONS: '', NO_COLOR: '1' } };
    const { stdout } = await run(process.execPath, [join(MODULES, program), ...args], options);
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error });
  }
}
/** By the compiler that `nest new` installs, or by TypeScript 7, which takes a tenth of its processor time. */
const compiles = (app: NestAppFolder, compiler: 'typescript' | 'typescript-7' = 'typescript-7') =>
  runs(app, `${compiler}/bin/tsc`, '--noEmit', '-p', '.', '--ignoreDeprecations', '6.0');

const jsonOf = async (app: NestAppFolder, file: string) =>
  JSON.parse(await app.read(file)) as Record<string, unknown>;

const FIRST_SAGA = [
  'src/orders/orders.controller.ts',
  'src/orders/orders.module.ts',
  'src/orders/payment.service.ts',
  'src/orders/place-order.saga.spec.ts',
  'src/orders/place-order.saga.ts',
  'src/orders/stock.service.ts',
];

describe('saga init in what nest new has made', () => {
  test('of Nest 12 adds module, saga and test, which compile, and the test passes', async () => {
    const app = await apps.create(NEST_12);
    const { code, out, error } = await init(app);
    expect([code, error]).toEqual([0, '']);
    const files = await app.files();
    const added = Object.keys(files).filter((path) => !(path in NEST_12));
    expect(added).toEqual(FIRST_SAGA);
    for (const path of [...added, 'src/app.module.ts', 'src/main.ts']) expect(out).toContain(` ${path} `);
    expect(files['src/main.ts']).toMatch(/create\(AppModule\);\n {2}app\.enableShutdownHooks\(\);\n/);
    expect(files['src/app.module.ts']).toContain(`import { OrdersModule } from './orders/orders.module.js';`);
    await compiles(app, 'typescript');
    expect(await runs(app, 'vitest/vitest.mjs', 'run')).toMatch(/Tests {2}3 passed/);
  });

  test('of Nest 11 leaves out extensions, and has Jest compile ES modules', async () => {
    const app = await apps.create(NEST_11, { installed: 'typescript' });
    expect(await init(app)).toMatchObject({
      code: 0,
      out: expect.stringContaining('@nestjs/typeorm@11 typeorm@1 pg@8'),
    });
    expect(await app.read('src/app.module.ts')).toContain(`from './orders/orders.module';`);
    const ours = ['/node_modules/(?!(?:.*/node_modules/)?(?:nestjs-durable-saga[^/]*|uuid)/)'];
    expect((await jsonOf(app, 'package.json')).jest).toMatchObject({ transformIgnorePatterns: ours });
    expect(await jsonOf(app, 'test/jest-e2e.json')).toMatchObject({ transformIgnorePatterns: ours });
  });

  test('nest add does the same', async () => {
    const [added, initialised] = [await apps.create(NEST_12), await apps.create(NEST_12)];
    await runs(added, '@nestjs/cli/bin/nest.js', 'add', 'nestjs-durable-saga', '--skip-install');
    await init(initialised);
    expect(await added.files()).toEqual(await initialised.files());
  });

  test('names what is injected where Vitest is on a Vite that leaves no types, and the test passes without', async () => {
    const old = { 'node_modules/vite/package.json': '{ "version": "7.1.0" }' };
    const app = await apps.create({ ...NEST_12, ...old }, { installed: 'nothing' });
    await init(app);
    const untyped = NEST_12['tsconfig.json']!.replace(
      '"emitDecoratorMetadata": true',
      '"emitDecoratorMetadata": false',
    );
    const lacking = await apps.create({ ...(await app.files()), 'tsconfig.json': untyped });
    await compiles(lacking);
    expect(await runs(lacking, 'vitest/vitest.mjs', 'run')).toMatch(/Tests {2}3 passed/);
    const typed = (await lacking.read('src/orders/place-order.saga.ts')).replaceAll(/@Inject\(\w+\) /g, '');
    await lacking.write('src/orders/place-order.saga.ts', typed);
    await expect(runs(lacking, 'vitest/vitest.mjs', 'run')).rejects.toThrow(/constructor's parameters 0, 1/);
  });

  test('called again changes nothing', async () => {
    for (const files of [NEST_11, NEST_12]) {
      const app = await apps.create(files, { installed: 'typescript' });
      await init(app, '--postgres');
      const before = await app.files();
      const { code, out } = await init(app, '--postgres');
      expect(code).toBe(0);
      expect(await app.files()).toEqual(before);
      expect(out).not.toMatch(/^ {2}(created|edited|to do)/m);
    }
  });

  test('with --dry-run says the same, and changes nothing', async () => {
    const app = await apps.create(NEST_12);
    const before = await app.files();
    const { code, out } = await init(app, '--dry-run', '--postgres', '--install');
    expect([code, await app.files()]).toEqual([0, before]);
    const changes = (text: string) => text.match(/^ {2}(created|edited) .*$/gm);
    expect(changes(out)).toEqual(changes((await init(app, '--postgres')).out));
  });

  test('can be taken back by what it says', async () => {
    const app = await apps.create(NEST_12);
    const { out } = await init(app, '--postgres');
    const made = /^ {2}rm (.*)$/m.exec(out)![1]!.split(' ');
    const edited = /^ {2}git diff (.*?) +#/m.exec(out)![1]!.split(' ');
    const after = await app.files();
    const changed = Object.keys(after).filter((path) => after[path] !== NEST_12[path]);
    expect([...made, ...edited].sort()).toEqual(changed);
  });
});

describe('saga init leaves what is there:', () => {
  test('modules that the application imports elsewhere are not imported again', async () => {
    const database = `import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { SagaModule } from 'nestjs-durable-saga';

@Module({
  imports: [
    TypeOrmModule.forRootAsync({ useFactory: () => ({ type: 'postgres', url: process.env.DATABASE_URL }) }),
    SagaModule.forRoot({ schema: 'shop_saga' }),
  ],
})
export class DatabaseModule {}
`;
    const module = `import { Module } from "@nestjs/common"
import { DatabaseModule } from "./database.module.js"

@Module({ imports: [DatabaseModule] })
export class AppModule {}
`;
    const files = { ...NEST_12, 'src/database.module.ts': database, 'src/app.module.ts': module };
    const app = await apps.create(files);
    await init(app);
    expect(await app.read('src/database.module.ts')).toBe(database);
    expect(await app.read('src/app.module.ts')).toBe(`import { Module } from "@nestjs/common"
import { DatabaseModule } from "./database.module.js"
import { OrdersModule } from "./orders/orders.module.js"

@Module({ imports: [DatabaseModule, OrdersModule] })
export class AppModule {}
`);
    await compiles(app);
  });

  test('a second folder has another saga and another route, whatever the folder is called', async () => {
    const app = await apps.create(NEST_12);
    for (const folder of ['orders', 'checkout', 'app', 'saga', 'type-orm'])
      expect((await init(app, folder)).code).toBe(0);
    const { out } = await init(app, 'checkout');
    expect(out).toContain('localhost:3000/checkout -H');
    expect(out).toContain('already imports all modules');
    expect(await app.read('src/checkout/checkout.saga.ts')).toContain('export class CheckoutSaga {');
    expect(await app.read('src/checkout/checkout.controller.ts')).toContain(`@Controller('checkout')`);
    await compiles(app);
  });

  test('an application with a CheckoutModule of its own imports the one of the saga beside it', async () => {
    const own = `import { Module } from '@nestjs/common';\n\n@Module({})\nexport class CheckoutModule {}\n`;
    const files = {
      ...NEST_12,
      'src/shop/checkout.module.ts': own,
      'src/app.module.ts': `import { Module } from '@nestjs/common';\nimport { CheckoutModule } from './shop/checkout.module.js';\n\n@Module({ imports: [CheckoutModule] })\nexport class AppModule {}\n`,
    };
    const app = await apps.create(files);
    expect((await init(app, 'checkout')).code).toBe(0);
    const module = await app.read('src/app.module.ts');
    expect(module).toContain(
      `import { CheckoutModule as SagaCheckoutModule } from './checkout/checkout.module.js';`,
    );
    expect(module).toMatch(/imports: \[\s*CheckoutModule,[^]*SagaCheckoutModule,?\s*\]/);
    await compiles(app);
    expect((await init(app, 'checkout')).out).toContain('already imports all modules');
  });

  test.each([
    [
      'a list over several lines',
      'imports: [\n    A.forRoot({\n      a: 1,\n    }), // of A\n    B,\n  ],',
      /B,\n {4}TypeOrmModule\.forRoot\(\{\n {6}type: 'postgres',[^]*\n {4}\}\),\n {4}SagaModule\.forRoot\(\),\n {4}OrdersModule,\n {2}\],/,
    ],
    [
      'one without a comma at its end',
      'imports: [\n    A,\n    B\n  ],',
      /B,\n {4}TypeOrmModule[^]*\n {4}OrdersModule\n {2}\],/,
    ],
    [
      'no list',
      '',
      /@Module\(\{\n {2}imports: \[\n {4}TypeOrmModule[^]*OrdersModule,\n {2}\],\n {2}providers: \[\],/,
    ],
  ])('%s', async (_, list, edited) => {
    const module = `import { Module } from '@nestjs/common';\n\n@Module({\n${list && `  ${list}\n`}  providers: [],\n})\nexport class AppModule {}\n`;
    const app = await apps.create({ ...NEST_12, 'src/app.module.ts': module });
    expect((await init(app)).code).toBe(0);
    expect(await app.read('src/app.module.ts')).toMatch(edited);
  });

  test('a root module of another shape, whose lines it prints', async () => {
    const module = `import { Module } from '@nestjs/common';
const metadata = { imports: [] };
@Module(metadata)
export class AppModule {}
`;
    const app = await apps.create({ ...NEST_12, 'src/app.module.ts': module });
    const { code, out } = await init(app);
    expect(code).toBe(0);
    expect(await app.read('src/app.module.ts')).toBe(module);
    expect(out).toMatch(/to do +src\/app\.module\.ts/);
    expect(out).toMatch(
      /To add to src\/app\.module\.ts:\n {2}import \{ TypeOrmModule \}[^]*SagaModule\.forRoot\(\),/,
    );
  });

  test('an application whose TypeScript is not to be found, too', async () => {
    const app = await apps.create(NEST_12, { installed: 'nothing' });
    const { code, out } = await init(app);
    expect([code, await app.read('src/app.module.ts')]).toEqual([0, NEST_12['src/app.module.ts']]);
    expect(out).toMatch(/To add to src\/main\.ts:\n {2}app\.enableShutdownHooks\(\);/);
  });

  test('a Jest with another existing setup', async () => {
    const { jest, ...rest } = JSON.parse(NEST_11['package.json']!) as { jest: object };
    const own = `${JSON.stringify({ ...rest, jest: { ...jest, transform: { '^.+\\.ts$': '@swc/jest' } } }, null, 2)}\n`;
    const app = await apps.create({ ...NEST_11, 'package.json': own }, { installed: 'typescript' });
    const { out } = await init(app);
    expect(await app.read('package.json')).toBe(own);
    expect(out).toMatch(/To add to package\.json:\n {2}"transform"/);
  });

  test('a folder in use, and takes another', async () => {
    const files = { ...NEST_12, 'src/orders/order.ts': 'export const order = 1;\n' };
    const app = await apps.create(files);
    const refused = await init(app);
    expect([refused.code, await app.files()]).toEqual([1, files]);
    expect(refused.error).toMatch(/^saga: FOLDER_IN_USE: src\/orders already exists.*saga init checkout/);
    expect((await init(app, 'checkout/first')).code).toBe(0);
    expect(await app.read('src/app.module.ts')).toContain(`from './checkout/first/checkout-first.module.js'`);
    await compiles(app);
  });
});

describe('saga init adds no second connection of TypeORM', () => {
  const DATABASE = `import { TypeOrmModule } from '@nestjs/typeorm';
export const database = TypeOrmModule.forRoot({ type: 'postgres' });
`;
  const withDependency = (name: string) => {
    const json = JSON.parse(NEST_12['package.json']!) as { dependencies: object };
    return JSON.stringify({ ...json, dependencies: { ...json.dependencies, [name]: '*' } });
  };

  test('beside the one in a library of the Nest monorepo', async () => {
    const projects = { database: { type: 'library', sourceRoot: 'libs/database/src' } };
    const app = await apps.create({
      ...NEST_12,
      'libs/database/src/database.module.ts': DATABASE,
      'nest-cli.json': JSON.stringify({
        sourceRoot: 'src',
        projects: { shop: { sourceRoot: 'src' }, ...projects },
      }),
    });
    expect((await init(app)).code).toBe(0);
    expect(await app.read('src/app.module.ts')).not.toContain('TypeOrmModule');
  });

  test('beside the one in another package of the workspace', async () => {
    const app = await apps.create(
      {
        ...NEST_12,
        'package.json': withDependency('company-database'),
        'database/index.ts': DATABASE,
        'database/package.json': '{}',
      },
      { installed: 'typescript' },
    );
    await symlink(join(app.path, 'database'), join(app.path, 'node_modules/company-database'), 'junction');
    expect((await init(app)).code).toBe(0);
    expect(await app.read('src/app.module.ts')).not.toContain('TypeOrmModule');
  });

  test('where an installed package may have connected it, and takes the versions that this has brought', async () => {
    const brings = JSON.stringify({ version: '1.0.0', dependencies: { '@nestjs/typeorm': '^11.0.0' } });
    const app = await apps.create(
      {
        ...NEST_12,
        'package.json': withDependency('platform'),
        'node_modules/platform/package.json': brings,
        'node_modules/typeorm/package.json': '{ "version": "0.3.31" }',
        'node_modules/@nestjs/typeorm/package.json': '{ "version": "11.0.3" }',
      },
      { installed: 'nothing' },
    );
    const { out } = await init(app);
    expect(out).toMatch(/to do .*TypeOrmModule was left out: platform depends on @nestjs\/typeorm/);
    expect(out).toContain('npm install nestjs-durable-saga @nestjs/typeorm@^11.0.3 typeorm@^0.3.31 pg@8');
  });

  test('and leaves a Vendure project to its page', async () => {
    const app = await apps.create(
      { 'package.json': '{ "dependencies": { "@vendure/core": "3.7.3" } }' },
      { installed: 'nothing' },
    );
    expect(await init(app)).toMatchObject({
      code: 1,
      error: expect.stringMatching(/^saga: VENDURE: .*docs\/vendure\.md/),
    });
  });
});

describe('saga init --project', () => {
  const monorepo: Record<string, string> = {
    ...Object.fromEntries(
      Object.entries(NEST_12).map(([path, text]) => [path.replace(/^src/, 'apps/api/src'), text]),
    ),
    'apps/mail/src/main.ts': 'export {};\n',
    'nest-cli.json': JSON.stringify({
      monorepo: true,
      sourceRoot: 'apps/api/src',
      projects: {
        api: { type: 'application', sourceRoot: 'apps/api/src', entryFile: 'main' },
        mail: { type: 'application', sourceRoot: 'apps/mail/src', entryFile: 'main' },
        shared: { type: 'library', sourceRoot: 'libs/shared/src', entryFile: 'index' },
      },
    }),
  };

  test('puts it into that application of a monorepo', async () => {
    const app = await apps.create(monorepo);
    expect((await init(app, '--project', 'api')).code).toBe(0);
    expect(await app.read('apps/api/src/app.module.ts')).toContain('SagaModule.forRoot()');
    expect(await app.read('apps/mail/src/main.ts')).toBe(monorepo['apps/mail/src/main.ts']);
    await compiles(app);
  });

  const tsconfig = JSON.parse(NEST_11['tsconfig.json']!) as { compilerOptions: object };
  const nx: Record<string, string> = {
    'nx.json': '{}',
    'package.json': NEST_11['package.json']!.replace(/,\n {2}"jest": \{[^]*?\n {2}\}/, ''),
    'tsconfig.json': JSON.stringify({
      compilerOptions: { ...tsconfig.compilerOptions, types: ['jest', 'node'] },
    }),
    'apps/api/project.json': JSON.stringify({ name: 'api', projectType: 'application' }),
    'apps/api/src/main.ts': NEST_11['src/main.ts']!.replace('./app.module', './app/app.module'),
    'apps/api/src/app/app.module.ts': `import { Module } from '@nestjs/common';\n\n@Module({ imports: [] })\nexport class AppModule {}\n`,
    'apps/web/package.json': '{ "name": "@shop/web", "nx": {} }',
    'apps/web/src/main.ts': 'export {};\n',
    'libs/shared/project.json': '{ "name": "shared", "projectType": "library" }',
    'libs/shared/src/index.ts': 'export {};\n',
  };

  test('is not needed for the one Nest application of an Nx workspace', async () => {
    // As Nx 23 pins it. TypeORM 1 requires a newer one, and npm would install neither.
    const tsNode = { 'node_modules/ts-node/package.json': '{ "version": "10.9.1" }' };
    const pinned = await apps.create({ ...nx, ...tsNode }, { installed: 'nothing' });
    expect((await init(pinned)).out).toContain('@nestjs/typeorm@11 typeorm@0.3 pg@8');
    const app = await apps.create(nx);
    const { code, out } = await init(app);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/npx nx test api[^]*npx nx serve api\n.*:3000\/api\/orders/),
    ]);
    expect(await app.read('apps/api/src/app/app.module.ts')).toContain(`from '../orders/orders.module';`);
    expect(await app.read('apps/web/src/main.ts')).toBe(nx['apps/web/src/main.ts']);
    await compiles(app);
  });

  test('is the one of several in an Nx workspace', async () => {
    const mail = {
      'apps/mail/package.json': '{ "name": "@shop/mail" }',
      'apps/mail/src/main.ts': nx['apps/api/src/main.ts']!,
    };
    const app = await apps.create({ ...nx, ...mail });
    expect((await init(app)).error).toMatch(/Give --project: .*nx\.json has api, @shop\/mail/);
    expect((await init(app, '--project', 'api')).code).toBe(0);
  });

  test('is the one that nest add --project names, with the options of saga init', async () => {
    const app = await apps.create(monorepo);
    const words = ['--project', 'api', '--skip-install', '--orm=pg', '--postgres'];
    await runs(app, '@nestjs/cli/bin/nest.js', 'add', 'nestjs-durable-saga', ...words);
    const files = await app.files();
    expect(files['apps/api/src/database/database.module.ts']).toContain('pgDatabase(db)');
    expect(files['package.json']).toContain('"postgres": "saga postgres"');
    expect(files['apps/mail/src/main.ts']).toBe(monorepo['apps/mail/src/main.ts']);
  });

  test.each([
    ['is asked for where there are several', [], /Give --project: .* has api, mail/],
    [
      'has to be one of them',
      ['--project', 'shared'],
      /'shared' is not an application of .*\. It has api, mail/,
    ],
  ])('%s', async (_, args, message) => {
    const app = await apps.create(monorepo);
    const { code, error } = await init(app, ...args);
    expect([code, await app.files()]).toEqual([2, monorepo]);
    expect(error).toMatch(message);
  });
});

describe('saga init refuses', () => {
  test.each<[string, Record<string, string>]>([
    ['an empty folder', {}],
    ['a project that is not of Nest', { 'package.json': '{ "dependencies": { "express": "5" } }' }],
    [
      'an Nx workspace without a Nest application',
      { 'nx.json': '{}', 'package.json': NEST_12['package.json']! },
    ],
    ['a package.json that cannot be read', { 'package.json': '{' }],
  ])('%s, and changes nothing', async (_, files) => {
    const app = await apps.create(files, { installed: 'nothing' });
    const { code, out, error } = await init(app);
    expect([code, out, await app.files()]).toEqual([1, '', files]);
    expect(error).toMatch(/^saga: NO_NEST_APP: /);
  });

  test('a folder outside of the sources', async () => {
    const app = await apps.create(NEST_12);
    for (const folder of ['../orders', '/orders', '', '2nd'])
      expect(await init(app, folder)).toMatchObject({
        code: 2,
        error: expect.stringContaining('not a folder name below'),
      });
    expect(await app.files()).toEqual(NEST_12);
  });
});

describe('saga init names what to install by the application’s package manager', () => {
  test.each([
    [
      'package-lock.json',
      /^ {2}npm install nestjs-durable-saga @nestjs\/typeorm@\^12\.\d+\.\d+ typeorm@\^1\.\d+\.\d+ pg@\^8\.\d+\.\d+$/m,
    ],
    ['pnpm-lock.yaml', /^ {2}pnpm add nestjs-durable-saga .*\n {2}pnpm add -D nestjs-durable-saga-cli$/m],
    ['yarn.lock', /^ {2}yarn add nestjs-durable-saga /m],
    ['bun.lock', /^ {2}bun add nestjs-durable-saga /m],
  ])('%s', async (lockFile, words) => {
    const app = await apps.create({ ...NEST_12, [lockFile]: '' });
    expect((await init(app, '--postgres', '--dry-run')).out).toMatch(words);
  });
});
