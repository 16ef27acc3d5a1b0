import { problemsIn, testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { declareSaga } from '../index.js';

const SCHEMA = 'resultSchema: { type: object, required: [id], properties: { id: { type: string } } }';
const step = (output: string, more = '') =>
  `work: { exec: { command: [echo, '${output}'] }, ${SCHEMA}, compensate: { exec: { command: [echo] } }${more} }`;
async function run(text: string, signal?: unknown) {
  const test = testOf(await declareSaga(text));
  return (signal === undefined ? test : test.signal('reply', signal)).run({ list: [1, 2] });
}

describe('a result', () => {
  test('that satisfies its schema is stored', async () => {
    const { outcome } = await run(withSteps(step('{"id":"r-1","more":1}')));
    expect(outcome).toMatchObject({ status: 'completed', results: { work: { id: 'r-1', more: 1 } } });
  });

  test('that does not is not stored: the step fails, shows no value, and is compensated', async () => {
    const { outcome, trace, snapshot } = await run(
      withSteps(step('{"id":"secret-5"}').replace('string', 'number')),
    );
    expect(outcome).toMatchObject({
      status: 'compensated',
      failure: {
        step: 'work',
        error: {
          code: 'SAGA_UNKNOWN_OUTCOME',
          message:
            "The result of step 'work' does not satisfy its resultSchema: result.id must be number. Correct the participant, or the schema",
        },
      },
    });
    expect(trace).toEqual(['work', 'work.compensate']);
    expect(JSON.stringify(snapshot)).not.toContain('secret-5');
  });

  test('of each item is checked', async () => {
    const { outcome } = await run(withSteps(step('{"id":7}', ', forEach: input.list')));
    expect(outcome.failure?.error?.message).toContain('result.id must be string');
  });

  test('that a probe finds is checked: without it, the outcome stays unknown', async () => {
    const found = (output: string) => `, probe: { exec: { command: [echo, '${output}'] } }`;
    const good = await run(withSteps(step('{"id":7}', found('{"id":"r-1"}'))));
    expect(good.outcome).toMatchObject({ status: 'completed', results: { work: { id: 'r-1' } } });
    const bad = await run(withSteps(step('{"id":7}', found('{}'))));
    expect(bad.outcome.status).toBe('compensated');
  });

  test('of a signal and of a reply is checked, and a message is compensated', async () => {
    const wait = withSteps(`wait: { waitFor: { signal: reply, result: payload }, ${SCHEMA} }`);
    expect((await run(wait, { id: 'x' })).outcome.results).toEqual({ wait: { id: 'x' } });
    expect((await run(wait, { id: 5 })).outcome.failure).toMatchObject({ step: 'wait', kind: 'error' });
    const ask = `ask: { message: { topic: t, reply: { signal: reply } }, ${SCHEMA}, compensate: { message: { topic: no } } }`;
    const { published, outcome } = await run(withSteps(ask), { id: 5 });
    expect([outcome.status, published.map(({ topic }) => topic)]).toEqual(['compensated', ['t', 'no']]);
  });

  test('of a provider is checked as it is stored', async () => {
    const text = withSteps('work: { call: { method: A.b }, resultSchema: { type: string, minLength: 24 } }');
    const saga = await declareSaga(text, { findMethod: () => () => new Date(0) });
    expect((await testOf(saga).run({})).outcome.status).toBe('completed');
  });
});

test('a schema that is none is a problem of the file, and so is one without a result', async () => {
  expect(
    await problemsIn(withSteps('work: { exec: { command: [ls] }, resultSchema: { type: text } }')),
  ).toEqual([expect.stringMatching(/^3:\d+: resultSchema is not a JSON Schema: .*Correct the schema/)]);
  expect(await problemsIn(withSteps('work: { message: { topic: t }, resultSchema: true }'))).toEqual([
    expect.stringMatching(/^3:\d+: a message without reply has no result; remove it/),
  ]);
});
