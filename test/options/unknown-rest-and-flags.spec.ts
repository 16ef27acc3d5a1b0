import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COMMANDS } from '../../libs/cli/src/commands.js';
import { Saga, Step } from '../../libs/saga/src/index.js';
import { AdminApps } from '../admin/support/admin-apps.js';
import { createTestDatabase } from '../support/test-database.js';
import { sagaHere } from '../cli/support/saga-here.js';

@Saga({ name: 'order' })
class Order {
  @Step() act() {}
}

const apps = AdminApps.onOwnDatabase();

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { readonly $ref: string } }> };
}
interface Schema {
  readonly properties: Record<
    string,
    { readonly $ref?: string; readonly allOf?: readonly { $ref: string }[] }
  >;
}

/** Without its last letter but one. */
const slipOf = (name: string) => `${name.slice(0, -2)}${name.slice(-1)}`;
const longest = (names: readonly string[]) => [...names].sort((a, b) => b.length - a.length)[0]!;

describe('REST', () => {
  test('refuses an unknown field of every body, its nested ones included, and of every query', async () => {
    const app = await apps.start({ sagas: [Order] });
    const { id } = await app.sagas.start(Order, {});
    await (await app.sagas.start(Order, {}, { id })).outcome();
    const document = (await openApi()) as {
      readonly paths: Record<string, Record<string, Operation>>;
      readonly components: { readonly schemas: Record<string, Schema> };
    };
    const { schemas } = document.components;
    const tried: string[] = [];
    const refuses = async (what: string, path: string, init: RequestInit, slip: string, meant: string) => {
      const answer = await fetch(`${app.url}${path.replace('/internal/ops', '').replace('{id}', id)}`, {
        ...init,
        headers: { 'content-type': 'application/json', 'x-saga-admin': '1' },
      });
      const { code, message } = (await answer.json()) as { code: string; message: string };
      expect([what, answer.status, code]).toEqual([what, 400, 'SAGA_VALIDATION']);
      expect([what, message]).toEqual([
        what,
        expect.stringMatching(new RegExp(`unknown option '.*${slip}'`)),
      ]);
      expect([what, message]).toEqual([
        what,
        expect.stringMatching(new RegExp(`Did you mean '.*${meant}'\\?`)),
      ]);
      tried.push(what.replace('/internal/ops', ''));
    };
    const fieldsOf = (ref: string) => schemas[ref.split('/').at(-1)!]!.properties;
    const needed = { step: 'act', signal: 's', action: 'cancel', filter: { saga: 'order' } };
    for (const [path, methods] of Object.entries(document.paths))
      for (const [method, { parameters = [], requestBody }] of Object.entries(methods)) {
        const query = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
        if (query.length > 0)
          await refuses(
            `${path}?`,
            `${path}?${slipOf(longest(query))}=x`,
            {},
            slipOf(longest(query)),
            longest(query),
          );
        if (!requestBody) continue;
        const fields = fieldsOf(requestBody.content['application/json']!.schema.$ref);
        const valid = Object.fromEntries(Object.entries(needed).filter(([name]) => name in fields));
        const send = (name: string, body: object, field: string) =>
          refuses(name, path, { method, body: JSON.stringify(body) }, slipOf(field), field);
        const field = longest(Object.keys(fields));
        await send(path, { ...valid, [slipOf(field)]: 'x' }, field);
        for (const [name, schema] of Object.entries(fields)) {
          const ref = schema.$ref ?? schema.allOf?.[0]?.$ref;
          if (ref === undefined) continue;
          const below = longest(Object.keys(fieldsOf(ref)));
          const given = { ...(valid[name] as object | undefined), [slipOf(below)]: 1 };
          await send(`${path} ${name}`, { ...valid, [name]: given }, below);
        }
      }
    expect(tried).toEqual(
      expect.arrayContaining([
        ...['/sagas/api/sagas?', '/sagas/api/rates?', '/sagas/api/bulk', '/sagas/api/bulk filter'],
        ...['/sagas/api/sagas/{id}/cancel', '/sagas/api/sagas/{id}/cancel expects'],
      ]),
    );
    expect(tried.length).toBeGreaterThan(18);
    expect(await app.operations.history(id)).toEqual([]);
  });
});

/** As an application describes itself, in a process of its own. */
async function openApi(): Promise<unknown> {
  const database = await createTestDatabase();
  try {
    const program = fileURLToPath(new URL('../admin/programs/openapi.mjs', import.meta.url));
    const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url };
    const { stdout } = await promisify(execFile)(process.execPath, [program], { env, maxBuffer: 2 ** 24 });
    return JSON.parse(stdout);
  } finally {
    await database.drop();
  }
}

describe('the command line', () => {
  test.each(COMMANDS.map((command) => [command.words, command] as const))(
    'saga %s refuses an unknown option by name',
    async (words, { options, operands }) => {
      const meant = longest(Object.keys(options));
      const operand = operands.filter((one) => !one.startsWith('[')).map(() => 'x');
      const { code, error } = await sagaHere([...words.split(' '), ...operand, `--${slipOf(meant)}`]);
      expect(code).toBe(2);
      expect(error).toContain(`Unknown option '--${slipOf(meant)}'. Did you mean '--${meant}'?`);
    },
  );

  test.each([
    ['tags.region=eu', "--where has no 'tags.region'. Did you mean 'tag.region'?"],
    ['corelation-id=1', "--where has no 'corelation-id'. Did you mean 'correlation-id'?"],
    ['nope=1', "--where has no 'nope'; give a filter: saga="],
  ])('refuses the condition %s of many sagas', async (condition, expected) => {
    const { code, error } = await sagaHere([
      'cancel',
      '--where',
      condition,
      '--yes',
      '--url',
      'postgres://127.0.0.1:1/x',
    ]);
    expect([code, error]).toEqual([2, expect.stringContaining(expected)]);
  });
});
