import { Saga, Step, StepRejectedError } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { saga, sagaOn } from './support/saga-bin.js';
import { sagaHere, sagaHereOn } from './support/saga-here.js';

const apps = TestApps.onOwnDatabase();
const run = sagaOn(apps);
const here = sagaHereOn(apps);

@Saga({ name: 'place-order' })
class PlaceOrder {
  @Step() charge() {
    throw new StepRejectedError('declined \x1b[2J\x1b]0;owned\x07 by \u202ethe bank');
  }
}

const COMMANDS = [
  ...[
    'list',
    'show',
    'watch',
    'history',
    'stats',
    'start',
    'signal',
    'approve',
    'reject',
    'cancel',
    'abort',
    'undo',
  ],
  ...['pause', 'resume', 'retry', 'resolve', 'diagram', 'graph diff', 'migrate', 'postgres'],
];

describe('saga --help', () => {
  test('lists all commands; saga without any does, too, and ends with 2', async () => {
    const { code, out, error } = await saga(['--help']);
    expect([code, error]).toEqual([0, '']);
    for (const command of [...COMMANDS, 'run', 'lint'])
      expect(out).toMatch(new RegExp(`^  ${command}( [<[].*)? {2,}[A-Z]`, 'm'));
    expect(await saga([])).toEqual({ code: 2, out, error: '' });
  });

  test.each(COMMANDS)('of saga %s says what it takes', async (command) => {
    const { code, out, error } = await sagaHere([...command.split(' '), '--help']);
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(
      new RegExp(`^Usage: saga ${command}.*\\n\\n[^]+\\n  --url <postgres://…>  [^]+--help`),
    );
  });
});

describe('an invalid saga command ends with 2, and prints the cause in one line', () => {
  test.each<[string, string[], RegExp]>([
    ['a command with a slip', ['lsit'], /There is no command 'lsit'; did you mean 'list'\?\nsaga --help/],
    ['another slip', ['canel', 'x'], /did you mean 'cancel'\?/],
    [
      'what is like nothing',
      ['frobnicate'],
      /There is no command 'frobnicate'\nsaga --help lists the commands\n$/,
    ],
    ['half of a command', ['graph', 'dif'], /did you mean 'graph diff'\?/],
    [
      'an operand that is missing',
      ['resolve', 'a'],
      /Give <step>\nUsage: saga resolve <target> <step> \[options\]\n$/,
    ],
    ['an unknown option', ['list', '--sagas', 'x'], /Unknown option '--sagas'/],
    ['a limit of none', ['list', '--limit', '0'], /--limit is 0/],
    ['a limit in words', ['list', '--limit', 'ten'], /--limit 'ten' is not a number/],
    ['a schema that can be none', ['list', '--schema', 'a"b'], /--schema 'a"b' is not a valid schema name/],
    ['an empty name of a saga', ['list', '--where', 'saga'], /--where 'saga' has no value/],
  ])('%s', async (_, args, message) => {
    const { code, out, error } = await sagaHere(args, { environment: { DATABASE_URL: apps.url } });
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(/^saga: USAGE: /);
    expect(error).toMatch(message);
  });

  test('no database', async () => {
    // Not in the repository itself, whose sources name the address that `saga init` writes.
    const { code, out, error } = await saga(['list'], { cwd: import.meta.dirname });
    expect([code, out]).toEqual([2, '']);
    expect(error).toMatch(/^saga: USAGE: Give the database as .* DATABASE_URL\nUsage: saga list .*\n$/);
  });
});

describe('a database that cannot be used', () => {
  test.each([
    ['without a server', 'postgres://localhost:1/none', /^saga: ECONNREFUSED: connect ECONNREFUSED .*\n$/],
    ['of nowhere', 'postgres://nowhere.invalid/none', /^saga: (ENOTFOUND|EAI_AGAIN): .*\n$/],
  ])('%s ends it with 2, in a line', async (_, url, message) => {
    expect(await saga(['list', '--url', url])).toEqual({
      code: 2,
      out: '',
      error: expect.stringMatching(message),
    });
  });

  test('without the tables says how to make them; saga migrate does', async () => {
    const schema = ['--schema', 'fresh'];
    const list = await run('list', ...schema);
    expect([list.code, list.error]).toEqual([
      2,
      expect.stringMatching(
        /SAGA_CONFIGURATION: Schema 'fresh' of this database has no tables of sagas\..*saga migrate/,
      ),
    ]);
    const check = await here('migrate --check', ...schema);
    expect([check.code, check.out]).toEqual([
      1,
      expect.stringContaining(`Schema 'fresh' lacks instance, step`),
    ]);
    const migrated = await run('migrate', ...schema);
    expect([migrated.code, migrated.out]).toEqual([
      0,
      expect.stringMatching(/^Applied \d+ migrations? to schema 'fresh': CreateSagaTables/),
    ]);
    expect((await here('migrate', ...schema)).out).toBe(`Schema 'fresh' was already up to date\n`);
    expect(await here('migrate --check --json', ...schema)).toMatchObject({
      code: 0,
      out: '{"schema":"fresh","missing":[]}\n',
    });
    expect((await here('list', ...schema)).code).toBe(0);
    // An application finds all of it there.
    await apps.start({ sagas: [PlaceOrder], options: { schema: 'fresh', migrate: false } });
  });

  test('that lacks a part says which', async () => {
    await apps.start({ options: { schema: 'older' } });
    await apps.sql('DROP FUNCTION older.signal');
    const { code, error } = await here('list --schema older');
    expect([code, error]).toEqual([
      2,
      expect.stringContaining(`lacks signal(): it was created by an earlier version`),
    ]);
    const migrated = await here('migrate --schema older');
    expect([migrated.code, migrated.error]).toEqual([2, expect.stringContaining('was dropped manually')]);
  });

  test('that another build made is refused by each command', async () => {
    await apps.start({ options: { schema: 'unmarked' } });
    await apps.sql('COMMENT ON TABLE unmarked.outbox IS NULL');
    for (const command of ['list', 'migrate', 'migrate --check'])
      expect(await here(`${command} --schema unmarked`)).toMatchObject({
        code: 2,
        error: expect.stringMatching(/SAGA_CONFIGURATION: Schema 'unmarked' was made by another build/),
      });
  });
});

describe('a saga without a description', () => {
  test('is shown, and not acted on', async () => {
    const { sagas } = await apps.start({ sagas: [PlaceOrder], options: { worker: false } });
    const { id } = await sagas.start(PlaceOrder, {});
    await apps.sql('DELETE FROM saga.graph');
    expect((await here('show', id)).code).toBe(0);
    const { code, error } = await run('cancel', id, '--yes');
    expect([code, error]).toEqual([
      2,
      expect.stringMatching(/SAGA_DEFINITION: The graph of place-order@1 is not stored/),
    ]);
    expect((await sagas.get(id)).status).toBe('running');
  });
});

test('what a saga was given, or has thrown, cannot play with the terminal', async () => {
  const { sagas } = await apps.start({ sagas: [PlaceOrder] });
  const { id, outcome } = await sagas.start(PlaceOrder, {});
  await outcome();
  for (const words of ['list', `show ${id}`]) {
    const { out } = await run(words);
    expect(out).toContain('declined');
    // oxlint-disable-next-line no-control-regex -- which it must not have
    expect(out).not.toMatch(/[\x1b\x07\u202e]/);
  }
});
