import * as fc from 'fast-check';
import { anyText } from '../../../../test/fixtures/any-text.js';
import { problemsIn } from '../../../../test/fixtures/declared-saga.js';

const EXAMPLE = `saga: place-order
version: 1
input: { type: object, required: [sku] }
retry: { attempts: 5, delay: 1s }
steps:
  reserve:
    http: { method: POST, url: "{{ env.STOCK_URL }}/reservations", body: "{{ { 'sku': input.sku } }}" }
    compensate: { http: { method: DELETE, url: "{{ env.STOCK_URL }}/{{ result.id }}" } }
  charge: { after: reserve, exec: { command: [./charge.sh], stdin: "{{ input }}" }, timeout: 10s, resultSchema: { type: object } }
  approve: { approval: { timeout: 3d }, when: "input.amount > 1000" }
  paid: { waitFor: { signal: payment-reply, timeout: 15m, reject: "payload.status = 'declined'" } }
  ask: { message: { topic: bank, payload: { n: "{{ input.n }}" }, headers: { a: b }, reply: { signal: bank, timeout: 1h } } }
  ship: { forEach: input.lines, http: { url: "http://ship/", body: { line: "{{ item }}" } } }
  print: { http: { url: "https://print/", tls: { ca: ca.pem, cert: c.pem, key: "{{ env.KEY }}" }, proxy: "http://p:1" } }
`;

/** A piece of a file as users might misplace it. */
const piece = fc.oneof(
  fc.constantFrom(
    '{{',
    '}}',
    '{',
    '}',
    '[',
    ']',
    ':',
    '- ',
    '\n',
    '  ',
    '&a ',
    '*a',
    '|',
    '>',
    '"',
    "'",
    '#',
    '%',
    '!!',
    '? ',
  ),
  fc.constantFrom(
    'steps',
    'http',
    'when',
    'tls',
    'message',
    'reply',
    'proxy',
    'input',
    'null',
    '~',
    '1e999',
    '-0',
    '.nan',
    '0x1F',
    '<<: *a',
    '$eval("1")',
  ),
  anyText({ maxLength: 12 }),
);

/** The example after some edits: a piece in the place of some characters. */
const edited = fc
  .array(fc.record({ at: fc.nat(EXAMPLE.length), removed: fc.nat(20), piece }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((edits) =>
    edits.reduce(
      (text, edit) => text.slice(0, edit.at) + edit.piece + text.slice(edit.at + edit.removed),
      EXAMPLE,
    ),
  );

/** Values in the shape of a saga. */
const shaped = fc
  .record(
    {
      saga: fc.oneof(fc.constant('order'), fc.jsonValue()),
      input: fc.jsonValue(),
      steps: fc.dictionary(
        fc.string({ maxLength: 8 }),
        fc.record(
          {
            http: fc.jsonValue(),
            exec: fc.jsonValue(),
            message: fc.jsonValue(),
            resultSchema: fc.jsonValue(),
            when: fc.jsonValue(),
            after: fc.jsonValue(),
            retry: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      ),
    },
    { requiredKeys: [] },
  )
  .map((value) => JSON.stringify(value));

/** Milliseconds that a file of this size may take on a busy machine. */
const LONGEST = 5_000;

async function isRead(text: string): Promise<void> {
  const began = performance.now();
  const problems = await problemsIn(text);
  for (const problem of problems) expect(problem).toMatch(/^\d+:\d+: .+/);
  expect(performance.now() - began).toBeLessThan(LONGEST);
}

const runs = 60 * Number(process.env.FUZZ_RUNS ?? 1);
const settings = { numRuns: runs, ...(process.env.FUZZ_SEED && { seed: Number(process.env.FUZZ_SEED) }) };

describe('any file is either a saga or a list of problems with their places', () => {
  test('the example is a saga', async () => expect(await problemsIn(EXAMPLE)).toEqual([]));

  test('an edited example', () => fc.assert(fc.asyncProperty(edited, isRead), settings));

  test('values in the shape of a saga', () => fc.assert(fc.asyncProperty(shaped, isRead), settings));

  test('any text', () =>
    fc.assert(fc.asyncProperty(anyText({ maxLength: 200, withNul: true }), isRead), settings));
});
