import { NEST_11, NEST_12, NestApps } from './support/nest-apps.js';
import { saga } from './support/saga-bin.js';

const apps = NestApps.make();
const DEFAULT = 'postgres://postgres:postgres@localhost:5432/postgres';
const NAMED = /^saga: DATABASE_URL is not set\. .*database 'postgres' on localhost:5432, as postgres$/m;
/** Nothing listens there. */
const CLOSED = 'postgres://nobody@127.0.0.1:1/shop';

describe('the database of a command in an application', () => {
  test.each([
    ['Nest 11', NEST_11],
    ['Nest 12', NEST_12],
  ])(
    'by saga init on %s is the default of that application, and stderr names its server and database',
    async (_, files) => {
      const app = await apps.create(files, { installed: 'typescript' });
      await saga(['init'], { cwd: app.path });
      expect(await app.read('src/app.module.ts')).toContain(DEFAULT);
      const { out, error } = await saga(['list', '--json', '--schema', 'no_sagas_here'], { cwd: app.path });
      expect(out).toBe('');
      expect(error).toMatch(NAMED);
      expect(error).not.toContain('Give the database');
    },
  );

  test('is found in the applications of a monorepo, too', async () => {
    const projects = { api: { sourceRoot: 'apps/api/src' } };
    const app = await apps.create({
      'nest-cli.json': JSON.stringify({ projects }),
      'apps/api/src/app.module.ts': `const url = '${DEFAULT}';\n`,
    });
    expect((await saga(['list', '--schema', 'no_sagas_here'], { cwd: app.path })).error).toMatch(NAMED);
  });

  test('has no default unless its sources have it', async () => {
    const other = { 'src/app.module.ts': `const url = 'postgres://localhost/shop';\n` };
    const app = await apps.create({ ...NEST_12, ...other });
    for (const words of [['list'], ['migrate'], ['cancel', '--where', 'status=stuck']]) {
      const { code, error } = await saga(words, { cwd: app.path });
      expect([words, code, error]).toEqual([words, 2, expect.not.stringMatching(NAMED)]);
    }
    expect((await saga(['list'], { cwd: app.path })).error).toContain('Give the database as --url');
  });

  test.each([
    ['--url', ['--url', CLOSED], {}],
    ['DATABASE_URL', [], { DATABASE_URL: CLOSED }],
  ])('is the one that %s names', async (_, words, environment) => {
    const app = await apps.create({ 'src/app.module.ts': `const url = '${DEFAULT}';\n` });
    const { error } = await saga(['list', ...words], { cwd: app.path, environment });
    expect(error).toContain('127.0.0.1:1');
    expect(error).not.toContain('5432');
  });
});
