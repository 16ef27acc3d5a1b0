import { problemsIn, withSteps } from '../../../../test/fixtures/declared-saga.js';

const GET = 'http: { url: "http://stock/" }';

describe('a problem in a file', () => {
  test.each<[what: string, text: string, problem: string]>([
    ['invalid YAML', 'saga: order\nsteps: [', '2:9: '],
    [
      'a second document',
      'saga: order\nsteps: {}\n---\nsaga: other\nsteps: {}',
      '3:1: source contains multiple documents',
    ],
    [
      'an unknown tag',
      withSteps('get: !include other.yaml'),
      '3:8: unresolved tag: !include. Correct the YAML',
    ],
    ['an empty file', '', "1:1: the file is empty; begin with 'saga: <name>' and 'steps:'"],
    ['a text', 'order', "1:1: the file is 'order'; give a map"],
    ['no steps', 'saga: order', "1:1: the file has no 'steps'; add 'steps'"],
    [
      'a misspelled key',
      `saga: order\nverson: 2\nsteps:\n  get: { ${GET} }`,
      "2:1: the file has the unknown key 'verson'. Did you mean 'version'?",
    ],
    [
      'a misspelled key of a step',
      withSteps(`get: { ${GET}, wehn: "true" }`),
      "3:42: steps.get has the unknown key 'wehn'. Did you mean 'when'?",
    ],
    [
      'a misspelled kind of step',
      withSteps('get: { htpp: { url: "http://stock/" } }'),
      "3:10: steps.get has the unknown key 'htpp'. Did you mean 'http'?",
    ],
    [
      'a step without a kind',
      withSteps('get: { after: [] }'),
      '3:8: steps.get does nothing; add one of http, exec, call, message, approval, waitFor, subSaga, handler',
    ],
    [
      'a step of two kinds',
      withSteps(`get: { ${GET}, approval: {} }`),
      "3:42: steps.get has both 'http' and 'approval'; a step has one of",
    ],
    [
      'a key that another kind has',
      withSteps('ask: { approval: {}, forEach: "input.lines" }'),
      "3:24: steps.ask has the unknown key 'forEach'",
    ],
    ['a count', `saga: order\nversion: 1.5\nsteps: {}`, '2:10: version is 1.5; give a whole number from 1'],
    ['a flag', withSteps(`get: { ${GET}, pivot: "yes" }`), "3:49: pivot is 'yes'; give true or false"],
    [
      'a duration',
      withSteps(`get: { ${GET}, timeout: ten }`),
      "3:51: timeout: 'ten' is not a duration; give milliseconds",
    ],
    [
      'a choice',
      withSteps('get: { http: { url: "http://a/", method: POTS } }'),
      "3:44: method is 'POTS'; give one of GET, HEAD, POST",
    ],
    [
      'the name of a step',
      withSteps(`"get it": { ${GET} }`),
      "3:3: steps has the invalid name 'get it'; names match",
    ],
    ['an alias', withSteps('get: *nothing'), '3:8: '],
    ['a key twice', 'saga: a\nsaga: b\nsteps: {}', '2:1: '],
    [
      'an expression without quotes',
      withSteps('get: { http: { url: {{ env.URL }} } }'),
      '3:24: a key is not text. Quote values with expressions: "{{ … }}"',
    ],
    [
      'a JSON Schema',
      `saga: order\ninput: { type: thing }\nsteps:\n  get: { ${GET} }`,
      '2:1: input is not a JSON Schema: schema is invalid: data/type must be equal to one of the allowed values',
    ],
    [
      'a policy that only the definition can check',
      withSteps(`get: { ${GET}, retry: { attempts: 2, jitter: 3 } }`),
      "3:64: step 'get': retry.jitter is 3; give a number from 0 to 1",
    ],
    [
      'an unknown step in after',
      withSteps(`get: { ${GET} }`, `put: { ${GET}, after: gte }`),
      "4:42: step 'put': waits for 'gte', which is not a step of this saga; did you mean 'get'?",
    ],
    [
      'a header of the engine',
      withSteps('get: { http: { url: "http://a/", headers: { saga-id: x } } }'),
      '3:47: the header saga-id is set by the engine; remove it',
    ],
    [
      'a request without a body that has one',
      withSteps('get: { http: { url: "http://a/", method: GET, body: 1 } }'),
      '3:49: GET has no body; remove body, or use another method',
    ],
    [
      'an expression for a shell',
      withSteps('run: { exec: { shell: true, command: "rm {{ input.file }}" } }'),
      '3:31: a command of the shell has expressions, whose values it would run; pass them in env or stdin',
    ],
    [
      'a command as a text',
      withSteps('run: { exec: { command: ls } }'),
      '3:18: command is a text; give a list: [program, argument], or set shell: true',
    ],
    [
      'a variable that is not set',
      withSteps('get: { http: { url: "{{ env.STOCK_URL }}/" } }'),
      '3:23: the environment variable STOCK_URL is not set; set it, also to an empty text',
    ],
    [
      'a secret without a file',
      `saga: order\nsecrets: { key: ./none }\nsteps: { get: { ${GET} } }`,
      "2:12: the file of the secret 'key' cannot be read; create it, or correct the path",
    ],
    [
      'an unknown secret',
      `saga: order\nsecrets: { stripe: ./none }\nsteps: { get: { http: { url: "http://a/?{{ secrets.strpe }}" } } }`,
      "3:30: unknown secret 'strpe'. Did you mean 'stripe'?",
    ],
    [
      'a sub-saga that no file declares',
      withSteps('ship: { subSaga: { saga: ordre } }'),
      "3:22: there is no saga 'ordre'. Did you mean 'order'?",
    ],
  ])('is reported with its line and column: %s', async (_, text, problem) => {
    const problems = await problemsIn(text, { checkEnvironment: true, environment: {} });
    expect(problems[0]).toContain(problem);
  });

  test('does not hide the others: all are reported at once', async () => {
    const text = withSteps('get: { http: { url: 1 }, piivot: 1 }', 'put: { exec: { command: [] } }');
    expect((await problemsIn(text)).map((line) => line.split(' ', 1)[0])).toEqual([
      '3:23:',
      '3:28:',
      '4:27:',
    ]);
  });
});

describe('a file', () => {
  test('can be JSON', async () => {
    const saga = { saga: 'order', steps: { get: { http: { url: 'http://stock/' } } } };
    expect(await problemsIn(JSON.stringify(saga, undefined, 2))).toEqual([]);
  });

  test('can repeat a value by an alias', async () => {
    const retry = 'retry: &patient { attempts: 9 }';
    expect(await problemsIn(withSteps(`a: { ${GET}, ${retry} }`, `b: { ${GET}, retry: *patient }`))).toEqual(
      [],
    );
  });

  test('cannot fill the memory with aliases of aliases', async () => {
    const levels = Array.from(
      { length: 12 },
      (_, n) =>
        `  l${n}: &l${n} [${Array(10)
          .fill(n === 0 ? 'x' : `*l${n - 1}`)
          .join(',')}]`,
    );
    const [problem] = await problemsIn(`saga: order\ninput:\n${levels.join('\n')}\nsteps: {}`);
    expect(problem).toMatch(/the file has more than 20000 values|alias/i);
  });

  test.each(['[', '{a: ', '- ', '{? '])('cannot exhaust the stack with %s', async (opening) => {
    const [problem] = await problemsIn(`saga: order\nsteps: ${opening.repeat(20_000)}`);
    expect(problem).toBeDefined();
  });
});
