import { problemsIn, withSteps } from '../../../../../test/fixtures/declared-saga.js';
import { Evaluator, ExpressionError } from './evaluator.js';
import type { Expression } from './expression.js';

const expression = (source: string): Expression => ({
  ...{ source, at: { line: 1, column: 1 }, names: ['input'], env: [], secrets: [] },
});
const evaluator = new Evaluator();
const valueOf = (source: string, input?: unknown) => evaluator.evaluate([expression(source)], { input })[0];

/** What is wrong with the body of a request, or with `when`. */
async function problemOfBody(body: string): Promise<string | undefined> {
  const [problem] = await problemsIn(
    withSteps(`put: { http: { url: "http://a/", body: ${JSON.stringify(body)} } }`),
  );
  return problem?.replace(/^\d+:\d+: /, '');
}
async function problemOfWhen(when: string): Promise<string | undefined> {
  const [problem] = await problemsIn(
    withSteps(`put: { http: { url: "http://a/" }, when: ${JSON.stringify(when)} }`),
  );
  return problem?.replace(/^\d+:\d+: /, '');
}

describe('the names in an expression', () => {
  test.each([
    'input.lines[price > 10 and sku = "cup"].qty',
    'results.reserve.{ "id": id, "note": note }',
    '$map(input.lines, function($line) { $line.sku & input.suffix })',
    '$sum(input.lines.(price * qty))',
    'input.lines^(>price)[0].sku',
    '$$.input.sku',
    '($total := $sum(input.lines.price); $total > 3 ? "much" : "little")',
    'input ~> |lines|{ "price": price * 2 }|',
    'env.STOCK_URL & env.`OTHER-URL`',
  ])('may be those of the scope and of the data: %s', async (source) => {
    expect(await problemOfBody(`{{ ${source} }}`)).toBeUndefined();
  });

  test.each([
    ['inptu.sku', "unknown name 'inptu' in the expression. Did you mean 'input'?"],
    ['$count(result.lines)', "unknown name 'result' in the expression. Did you mean 'results'?"],
    ['$$.inptu', "unknown name 'inptu' in the expression. Did you mean 'input'?"],
    ['env', 'env is used without a name. Write env.<name>'],
    ['$string(env)', 'env is used without a name. Write env.<name>'],
    ['$eval("env")', '$eval cannot be used, because its text is not checked; remove it'],
    [
      'input.',
      'unexpected end of expression at character 6 of the expression. Correct the JSONata expression',
    ],
  ])('are checked: %s', async (source, problem) => {
    expect(await problemOfBody(`{{ ${source} }}`)).toBe(problem);
  });

  test('cannot be secret where the value is stored or must repeat', async () => {
    expect(await problemOfWhen('env.FLAG = "on"')).toMatch(
      /^env cannot be used here, because the value is stored/,
    );
    expect(await problemOfWhen('$millis() > 5')).toMatch(/^\$millis cannot be used here, because it differs/);
    expect(await problemOfWhen('{{ input.a }}')).toMatch(/give the expression without \{\{ \}\}/);
  });
});

describe('braces', () => {
  test('of an object may be part of an expression', async () => {
    expect(await problemOfBody("{{ { 'a': { 'b': { 'c': 1 }}} }}")).toBeUndefined();
    expect(await problemOfBody("a {{ '}}' }} b")).toBeUndefined();
  });

  test('that are not closed are a problem', async () => {
    expect(await problemOfBody('{{ input')).toMatch(/^'\{\{' has no '\}\}'/);
  });
});

describe('an evaluation', () => {
  test('returns a copy as JSON stores it', () => {
    expect(valueOf('input.lines[qty > 1]', { lines: [{ qty: 1 }, { qty: 2 }, { qty: 3 }] })).toEqual([
      { qty: 2 },
      { qty: 3 },
    ]);
    expect(valueOf('input.lines', { lines: [1] })).toEqual([1]);
    expect(valueOf('input.none')).toBeUndefined();
  });

  test.each([
    ['a function', '$sum', /returns a function/],
    ['a wrong type', 'input + 1', /Left side of|left side of/],
    ['endless recursion', '($f := function($x) { $f($x + 1) + 1 }; $f(1))', /stack|depth|Stack/i],
    ['an endless loop', '($f := function($x) { $f($x) }; $f(1))', /timeout|longer/i],
    ['a long list', '[1..10000000]', /range|sequence|limit/i],
  ])('fails with its reason: %s', (_, source, problem) => {
    expect(() => valueOf(source, 'text')).toThrow(ExpressionError);
    expect(() => valueOf(source, 'text')).toThrow(problem);
  });

  test('that hangs in a regular expression is ended, and the next one works', () => {
    const began = performance.now();
    expect(() => valueOf('$match(input, /^(a+)+$/)', `${'a'.repeat(60)}b`)).toThrow(
      /took longer than 2000 ms/,
    );
    expect(performance.now() - began).toBeLessThan(20_000);
    expect(valueOf('1 + 1')).toBe(2);
  });

  test('has no variables of the process', () => {
    expect(valueOf('$exists(process) or $exists(env.PATH)')).toBe(false);
  });
});
