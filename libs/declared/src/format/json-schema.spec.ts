import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { problemsIn, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { sagaJsonSchema } from '../../../../test/fixtures/declared-json-schema.js';

const FILE = resolve('libs/declared/src/declared-saga.schema.json');
const text = `${JSON.stringify(sagaJsonSchema(), undefined, 2)}\n`;
if (process.env.GENERATE) writeFileSync(FILE, text);

const validate = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(sagaJsonSchema());
const GET = 'http: { url: "http://stock/" }';

describe('the published JSON Schema', () => {
  test('is that of the reader (npm run generate)', () =>
    expect(JSON.parse(readFileSync(FILE, 'utf8'))).toEqual(JSON.parse(text)));

  test.each([
    withSteps(
      `get: { ${GET}, after: [], when: "input.a", retry: { attempts: 2, delay: 1s }, timeout: 5s, pivot: true }`,
    ),
    withSteps(
      'run: { exec: { command: [ls, "{{ input.x }}"], env: { A: b }, reject: [2] }, compensate: { exec: { command: [rm] } } }',
    ),
    withSteps('run: { exec: { shell: true, command: "ls | wc" } }'),
    withSteps(
      'ask: { approval: { timeout: 3d } }',
      'paid: { waitFor: { signal: s, reject: "payload.no" }, savepoint: { attempts: 3 } }',
      `get: { ${GET} }`,
    ),
    withSteps('call: { handler: { name: stock, version: 2, input: { a: 1 } } }'),
    `$schema: x\nversion: 2\nupgradeFrom: 1\ninput: { type: object }\nlockKey: input.id\nretention: false\nredact: [card]\n${withSteps(`get: { ${GET} }`)}`,
  ])('accepts what the reader accepts: %s', async (yaml) => {
    expect(await problemsIn(yaml)).toEqual([]);
    expect(validate(parse(yaml))).toBe(true);
  });

  test.each([
    'saga: order',
    'verson: 1\nsaga: order\nsteps: {}',
    withSteps(`get: { ${GET}, wehn: "true" }`),
    withSteps(`get: { ${GET}, approval: {} }`),
    withSteps('get: { after: [] }'),
    withSteps('ask: { approval: {}, forEach: "input.lines" }'),
    withSteps(`get: { ${GET}, timeout: ten }`),
    withSteps('get: { http: { url: "http://a/", method: POTS } }'),
    withSteps(`"get it": { ${GET} }`),
    withSteps(`get: { ${GET}, savepoint: { attempts: 1 } }`),
    withSteps('run: { exec: { command: [] } }'),
  ])('refuses what the reader refuses: %s', async (yaml) => {
    expect(await problemsIn(yaml)).not.toEqual([]);
    expect(validate(parse(yaml))).toBe(false);
  });
});
