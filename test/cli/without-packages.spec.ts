import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMMANDS } from '../../libs/cli/src/commands.js';
import { InstalledPackages } from './support/installed-packages.js';
import { NEST_12, NestApps } from './support/nest-apps.js';
import { saga } from './support/saga-bin.js';

const apps = NestApps.make();

/** The built packages with the dependencies of the command line, but for pg, in a folder from which no other can be found. */
describe('saga where no package of an application is installed', () => {
  let folder: string;
  let bin: string;
  let packages: InstalledPackages;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-alone-'));
    packages = await InstalledPackages.in(folder);
    await packages.addDependencies('pg');
    bin = packages.bin;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('--help is what it is elsewhere', async () => {
    const { code, out, error } = await saga(['--help'], { bin });
    expect([code, error]).toEqual([0, '']);
    expect(out).toBe((await saga(['--help'])).out);
  });

  test.each(COMMANDS.map(({ words }) => words))('%s --help says what it takes', async (words) => {
    const { code, out, error } = await saga([...words.split(' '), '--help'], { bin });
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(new RegExp(`^Usage: saga ${words}`));
  });

  test('init adds module, saga and test to an application', async () => {
    const app = await apps.create(NEST_12, { installed: 'typescript' });
    const { code, out, error } = await saga(['init', '--postgres'], { bin, cwd: app.path });
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(/^ {2}npm install nestjs-durable-saga .*typeorm@/m);
    expect(await app.read('src/app.module.ts')).toContain('SagaModule.forRoot()');
    expect(await app.read('src/orders/place-order.saga.ts')).toContain('@Saga(');
  });

  test.each([
    ['list', 'list'],
    ['migrate', 'migrate'],
  ])('%s names the package that it needs, and what to do', async (_, words) => {
    const url = ['--url', 'postgres://127.0.0.1:1/none'];
    const { code, out, error } = await saga([...words.split(' '), ...url], { bin, cwd: folder });
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(
      /^saga: ERR_MODULE_NOT_FOUND: Cannot find package '(pg|typeorm|reflect-metadata|@nestjs\/common)' imported from .*\. Install it in your application \(npm install \1\), and run saga in the folder of your application\.\n$/,
    );
  });

  test('migrate --sql prints the SQL of the tables', async () => {
    await packages.add('pg');
    const { code, out, error } = await saga(['migrate', '--sql'], { bin });
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain('CREATE TABLE IF NOT EXISTS "saga".instance (');
  });
});
