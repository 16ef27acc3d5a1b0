import { testOf, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { cpuTimeSince } from '../../../../test/fixtures/cpu-time.js';
import { declareSaga } from '../index.js';
import { Evaluator } from './evaluator.js';
import type { Expression } from './expression.js';

/** A text that some patterns match in exponential time. */
const HOSTILE = `${'a'.repeat(40)}!`;

/** Runs a saga while it is measured for how long (ms) this process computed, at most, without a turn for anything else. */
async function stalled(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let time = cpuTimeSince();
  const timer = setInterval(() => {
    longest = Math.max(longest, time());
    time = cpuTimeSince();
  }, 10);
  await work().finally(() => clearInterval(timer));
  return Math.max(longest, time());
}

describe('an input that decides how long its check takes', () => {
  test('is refused, and nothing else waits for that', async () => {
    const saga = await declareSaga(
      `input: { type: object, properties: { name: { type: string, pattern: '^(a+)+$' } } }\n${withSteps('a: { exec: { command: [echo] } }')}`,
    );
    const refused = () =>
      expect(testOf(saga).run({ name: HOSTILE })).rejects.toMatchObject({
        code: 'SAGA_VALIDATION',
        message: expect.stringMatching(/not valid.*could not be checked: it took longer than 2000 ms/),
      });
    expect(await stalled(refused)).toBeLessThan(1_000);
  });

  test.each([
    ['a request', 'a: { exec: { command: [echo, "{{ $match(input.name, /^(a+)+$/) }}"] } }'],
    ['when', 'a: { exec: { command: [echo] }, when: "$exists($match(input.name, /^(a+)+$/))" }'],
    ['forEach', 'a: { exec: { command: [echo] }, forEach: "$match(input.name, /^(a+)+$/)" }'],
    [
      'a result',
      'a: { exec: { command: [echo, "{{ input.name }}"] }, resultSchema: { type: string, pattern: "^(a+)+$" }, retry: { attempts: 1 } }',
    ],
  ])('fails its own saga only: %s', async (_, step) => {
    const saga = await declareSaga(withSteps(step));
    const run = testOf(saga).run({ name: HOSTILE });
    expect(await stalled(() => run)).toBeLessThan(1_000);
    const { outcome } = await run;
    expect(outcome.failure).toMatchObject({
      step: 'a',
      error: { message: expect.stringContaining('it took longer than 2000 ms') },
    });
    expect((await testOf(saga).run({ name: 'aaa' })).outcome.status).toBe('completed');
  });

  test('refuses the start if it is the lock key', async () => {
    const text = `lockKey: $match(input.name, /^(a+)+$/).match\n${withSteps('a: { exec: { command: [echo] } }')}`;
    const test_ = testOf(await declareSaga(text));
    await expect(test_.run({ name: HOSTILE })).rejects.toMatchObject({ code: 'SAGA_VALIDATION' });
    expect((await test_.run({ name: 'aaa' })).outcome.status).toBe('completed');
  });
});

describe('an input that decides a size', () => {
  test.each([
    ['that ends the process which evaluates it', '$pad(input.name, input.width)'],
    ['of a value in between', '$length($uppercase($pad(input.name, input.width)))'],
    ['of a number', '$formatNumber(1, $pad("", input.width, "0"))'],
  ])('fails its own saga only: %s', async (_, expression) => {
    const saga = await declareSaga(withSteps(`a: { exec: { command: [echo, '{{ ${expression} }}'] } }`));
    const { outcome, trace } = await testOf(saga).run({ name: 'cup', width: 500_000_000 });
    expect(outcome.failure).toMatchObject({
      ...{ step: 'a', kind: 'rejected' },
      error: {
        message: expect.stringMatching(
          /: the expression '.+' failed: it (needs more than 256 MB|took longer)/,
        ),
      },
    });
    expect(trace).toEqual(['a']);
    const others = await Promise.all([1, 2, 3].map((width) => testOf(saga).run({ name: 'cup', width })));
    expect(others.map((run) => run.outcome.status)).toEqual(['completed', 'completed', 'completed']);
  });

  test('fails its own saga only: of a result that could not be stored', async () => {
    const saga = await declareSaga(
      withSteps(`a: { exec: { command: [cat], stdin: '{{ ($text := input; $join([1..17].($text))) }}' } }`),
    );
    const { outcome } = await testOf(saga).run('x'.repeat(1_000_000));
    expect(outcome.failure?.error?.message).toContain('more than 16777216 characters');
  });

  test('names the expression among those of one request', async () => {
    const saga = await declareSaga(
      withSteps(
        `a: { exec: { command: [echo, '{{ $uppercase(input.name) }}', '{{ $pad("", input.width) }}'] } }`,
      ),
    );
    const { outcome } = await testOf(saga).run({ name: 'cup', width: 500_000_000 });
    expect(outcome.failure?.error?.message).toContain(`the expression '$pad("", input.width)' failed`);
  });
});

const expression = (source: string): Expression => ({
  ...{ source, at: { line: 1, column: 1 }, names: ['input'], env: [], secrets: [] },
});

test('an answer is not late because this process, or the machine, stood still meanwhile', async () => {
  const evaluator = new Evaluator();
  await evaluator.evaluate([expression('input + 1')], { input: 1 }).answer;
  const { answer } = evaluator.evaluate([expression('input + 2')], { input: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
  expect(await answer).toEqual([3]);
});

test('a schema was checked where it was read, and is not checked again for each new value', async () => {
  const issues = await new Evaluator().check('{ "type": "string", "title": 1 }', 'a');
  expect(issues).toEqual([]);
});

describe('what is asked at the same time', () => {
  test.each([
    ['takes all its time', '$match(input, /^(a+)+$/)', /took longer/],
    ['takes all the memory', '$uppercase($pad(input, 500000000))', /needs more than|took longer/],
  ])('is answered beside one that %s', async (_, source, problem) => {
    const evaluator = new Evaluator();
    const one = evaluator.evaluate([expression(source)], { input: HOSTILE }).answer;
    const others = Array.from(
      { length: 50 },
      (__, n) => evaluator.evaluate([expression(`input + ${n}`)], { input: 1 }).answer,
    );
    await expect(one).rejects.toThrow(problem);
    expect(await Promise.all(others)).toEqual(others.map((__, n) => [n + 1]));
  });
});
