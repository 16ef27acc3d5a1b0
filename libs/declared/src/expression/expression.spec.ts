import { problemsIn, withSteps } from '../../../../test/fixtures/declared-saga.js';
import { Evaluator, ExpressionError } from './evaluator.js';
import { compileExpression, type Expression } from './expression.js';
import { LOCK_SCOPE } from './scope.js';

const expression = (source: string): Expression => ({
  ...{ source, at: { line: 1, column: 1 }, names: ['input'], env: [], secrets: [] },
});
const evaluator = new Evaluator();
const valueOf = async (source: string, input?: unknown) => {
  const [value] = await evaluator.evaluate([expression(source)], { input }).answer;
  return value;
};

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
  test('returns a copy as JSON stores it', async () => {
    expect(await valueOf('input.lines[qty > 1]', { lines: [{ qty: 1 }, { qty: 2 }, { qty: 3 }] })).toEqual([
      { qty: 2 },
      { qty: 3 },
    ]);
    expect(await valueOf('input.lines', { lines: [1] })).toEqual([1]);
    expect(await valueOf('input.none')).toBeUndefined();
  });

  test.each([
    ['a function', '$sum', /returns a function/],
    ['a wrong type', 'input + 1', /Left side of|left side of/],
    ['endless recursion', '($f := function($x) { $f($x + 1) + 1 }; $f(1))', /stack|depth|Stack/i],
    ['an endless loop', '($f := function($x) { $f($x) }; $f(1))', /timeout|longer/i],
    ['a long list', '[1..10000000]', /range|sequence|limit/i],
  ])('fails with its reason: %s', async (_, source, problem) => {
    await expect(valueOf(source, 'text')).rejects.toThrow(ExpressionError);
    await expect(valueOf(source, 'text')).rejects.toThrow(problem);
  });

  test('has no variables of the process', async () => {
    expect(await valueOf('$exists(process) or $exists(env.PATH)')).toBe(false);
  });

  test('of a plain path has the value that JSONata finds', async () => {
    const leaves = [1, 'a', null, true, undefined, [], [1], [[1], [2]], [{ b: 1 }, { b: [2] }], { b: 2 }];
    const inputs = [
      ...leaves,
      ...leaves.map((b) => ({ b })),
      ...leaves.map((a) => ({ a: [{ b: a }], b: { b: a } })),
    ];
    for (const source of [
      'input',
      'input.b',
      'input.a.b',
      'input.b.b',
      'input.constructor',
      'input.`b`.length',
    ]) {
      const ast = compileExpression(source, { line: 1, column: 1 }, LOCK_SCOPE, () => undefined)!;
      expect(ast.path).toBeDefined();
      for (const input of inputs) {
        const [own, theirs] = await evaluator.evaluate([ast, { ...ast, path: undefined }], { input }).answer;
        expect({ source, input, value: own }).toEqual({ source, input, value: theirs });
      }
    }
  });

  test.each([
    'input[0]',
    'input.a[]',
    'input.*',
    '$.input',
    'input.a{"x": b}',
    'input@$x',
    '"text"',
    '(input.a)',
  ])('leaves to JSONata what is no plain path: %s', async (source) => {
    const scope = { names: ['input', 'b'] };
    expect(compileExpression(source, { line: 1, column: 1 }, scope, () => undefined)?.path).toBeUndefined();
  });
});
