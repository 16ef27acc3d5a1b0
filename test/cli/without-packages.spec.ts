import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { COMMANDS } from '../../libs/cli/src/commands.js';
import { NEST_12, NestApps } from './support/nest-apps.js';
import { saga } from './support/saga-bin.js';

const LIBRARY = fileURLToPath(new URL('../../libs/saga', import.meta.url));
const apps = NestApps.make();

/** The built package in a folder from which no other package can be found, as before an install of its peers. */
describe('saga where no package of an application is installed', () => {
  let folder: string;
  let bin: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-alone-'));
    for (const part of ['dist', 'package.json'])
      await cp(join(LIBRARY, part), join(folder, part), { recursive: true });
    bin = join(folder, 'dist/cli/saga.js');
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

  test('migrate --sql prints the SQL of the tables', async () => {
    const { code, out, error } = await saga(['migrate', '--sql'], { bin });
    expect([code, error]).toEqual([0, '']);
    expect(out).toContain('CREATE TABLE IF NOT EXISTS "saga".instance (');
  });

  test.each([
    ['list', 'list'],
    ['migrate', 'migrate'],
    ['graph diff', 'graph diff package.json'],
  ])('%s names the package that it needs, and what to do', async (_, words) => {
    const url = ['--url', 'postgres://127.0.0.1:1/none'];
    const { code, out, error } = await saga([...words.split(' '), ...url], { bin, cwd: folder });
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(
      /^saga: ERR_MODULE_NOT_FOUND: Cannot find package '(pg|typeorm|reflect-metadata|@nestjs\/common)' imported from .*\. Install it in your application \(npm install \1\), and run saga in the folder of your application\.\n$/,
    );
  });
});
