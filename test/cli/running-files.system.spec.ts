import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InstalledPackages } from './support/installed-packages.js';
import { BIN, saga } from './support/saga-bin.js';
import { sagaHere } from './support/saga-here.js';

/** Each command adds a line to the file `log`, so that what was done can be read. */
const did = (what: string) => `[sh, -c, 'echo "${what}" >> log']`;
const PLACE_ORDER = `
saga: place-order
input:
  type: object
  required: [sku, amount]
  properties: { sku: { type: string }, amount: { type: number } }
compensationRetry: { attempts: 1 }
steps:
  reserve:
    exec: { command: ${did('reserved')}, result: '{ "id": 7 }' }
    compensate: { exec: { command: ${did('released {{ result.id }}')} } }
  approve: { approval: {}, when: "input.amount > 1000" }
  charge:
    exec: { command: ${did('charged {{ input.amount }}')} }
    retry: { attempts: 1 }
`;
const IMPORT = `
saga: import
steps:
  begin:
    exec: { command: ${did('began')} }
    compensate: { exec: { command: ${did('undone')} } }
  reply: { waitFor: { signal: bank-reply, result: payload.code } }
`;
const PARENT = `
saga: parent
steps:
  child: { subSaga: { saga: import } }
`;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'saga-run-'));
  await write('place-order.yaml', PLACE_ORDER);
  await write('import.yaml', IMPORT);
  await write('parent.yaml', PARENT);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFile(join(folder, name), text);
const path = (name: string) => join(folder, name);
const log = async () => (await readFile(path('log'), 'utf8').catch(() => '')).trim().split('\n');
const run = (...words: string[]) => sagaHere(['run', ...words]);
const order = (...words: string[]) =>
  run(path('place-order.yaml'), '--input', '{"sku":"cup","amount":12}', ...words);

describe('saga run', () => {
  test('runs the steps of a file, shows each, prints the results, and ends with 0', async () => {
    const { code, out, error } = await order();
    expect([code, error]).toEqual([0, '']);
    expect(out).toMatch(
      / reserve completed\n[^]* approve was skipped\n[^]* charge completed\n[^]*the saga completed\n/,
    );
    expect(out).toMatch(/\n\n\{\n {2}"reserve": \{\n {4}"id": 7\n {2}\}/);
    expect(await log()).toEqual(['reserved', 'charged 12']);
  });

  test('is a process that ends by itself, where typeorm is not installed', async () => {
    const packages = await InstalledPackages.in(path('lib'));
    await packages.addDependencies();
    const { bin } = packages;
    await write('input.json', '{"sku":"cup","amount":12}');
    const { code, out, error } = await saga(['run', 'place-order.yaml', '--input', '@input.json', '--json'], {
      ...{ bin, cwd: folder },
    });
    expect([code, error]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject({
      ...{ saga: 'place-order', version: 1, status: 'completed' },
      results: { reserve: { id: 7 } },
      steps: [{ name: 'reserve' }, { name: 'approve', status: 'skipped' }, { name: 'charge' }],
    });
  });

  test('--set changes fields of the input, at any depth', async () => {
    await write(
      'echo.yaml',
      'saga: echo\nsteps:\n  say: { exec: { command: [cat], stdin: "{{ input }}" } }\n',
    );
    const fields = ['--set', 'a.b=1', '--set', 'a.c=a text', '--set', 'list=[1,2]'];
    const { out } = await run(path('echo.yaml'), '--input', '{"a":{"b":0,"d":true}}', ...fields, '--json');
    expect(JSON.parse(out).results.say).toEqual({ a: { b: 1, c: 'a text', d: true }, list: [1, 2] });
  });

  test('--fail makes a step fail without running it; what was done is compensated, and it ends with 1', async () => {
    const { code, out } = await order('--fail', 'charge=card declined');
    expect(code).toBe(1);
    expect(out).toContain("rejected in step 'charge': card declined");
    expect(await log()).toEqual(['reserved', 'released 7']);
  });

  test('ends with 3 if a compensation fails as well', async () => {
    const { code, out } = await order('--fail', 'charge', '--fail', 'reserve.compensate=503', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(out)).toMatchObject({ status: 'stuck', failure: { step: 'charge' } });
  });

  test.each([
    ['approve', 0, ['reserved', 'charged 1200']],
    ['reject', 1, ['reserved', 'released 7']],
  ])('--%s answers an approval', async (decision, code, done) => {
    expect((await order('--set', 'amount=1200', `--${decision}`, 'approve')).code).toBe(code);
    expect(await log()).toEqual(done);
  });

  test('--signal sends a signal once the saga waits for it, also to a sub-saga', async () => {
    const files = [path('parent.yaml'), path('import.yaml')];
    const { code, out } = await run(...files, '--signal', 'bank-reply={"code":"ok"}', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out).results).toEqual({ child: { reply: 'ok' } });
  });

  test('cancels, and so compensates, a saga that waits for an answer that is not given', async () => {
    const { code, error } = await run(path('import.yaml'));
    expect(code).toBe(1);
    expect(error).toMatch(
      /^The saga is cancelled: it waits for the signal 'bank-reply' for step 'reply', .*Give .*--signal <name>=<json>/,
    );
    expect(await log()).toEqual(['began', 'undone']);
  });

  test('cancels a saga past --timeout', async () => {
    const waits = IMPORT.replace('signal: bank-reply,', 'signal: bank-reply, timeout: 1h,');
    await write('import.yaml', waits);
    const { code, error } = await run(path('import.yaml'), '--timeout', '200ms');
    expect([code, error]).toEqual([1, 'The saga is cancelled: it did not end within 200 ms\n']);
    expect(await log()).toEqual(['began', 'undone']);
  });

  test('asks in a terminal for what the saga waits for', async () => {
    const asked: string[] = [];
    const ask = async (question: string) => (asked.push(question), question.startsWith('Approve') ? 'y' : '');
    const input = ['--input', '{"sku":"cup","amount":1200}'];
    const { code } = await sagaHere(['run', path('place-order.yaml'), ...input], { ask, interactive: true });
    expect([code, asked]).toEqual([0, ["Approve step 'approve'? [y/n] "]]);
  });

  test('compensates on SIGINT, and on SIGTERM', async () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      await write('import.yaml', IMPORT.replace('signal: bank-reply,', 'signal: bank-reply, timeout: 1h,'));
      await rm(path('log'), { force: true });
      const child = spawn(process.execPath, [BIN, 'run', 'import.yaml'], {
        cwd: folder,
        env: { ...process.env, NODE_OPTIONS: '' },
      });
      await new Promise<void>((resolve) =>
        child.stdout.setEncoding('utf8').on('data', (text) => /waits for/.test(text as string) && resolve()),
      );
      child.kill(signal);
      const [code] = (await once(child, 'exit')) as [number];
      expect([code, await log()]).toEqual([1, ['began', 'undone']]);
    }
  });

  test('shows all problems of a file, each with its line, and ends with 2', async () => {
    await write(
      'wrong.yaml',
      'saga: wrong\nsteps:\n  a: { htp: {} }\n  b: { exec: { command: [ls], timout: 1s } }\n',
    );
    const { code, error } = await run(path('wrong.yaml'));
    expect(code).toBe(2);
    expect(error).toContain(`${path('wrong.yaml')}:3:`);
    expect(error).toContain(`${path('wrong.yaml')}:4:`);
  });

  test.each([
    [['--fail', 'chrge'], /--fail 'chrge' is not a step\. Did you mean 'charge'\?/],
    [['--set', 'amount'], /--set 'amount' has no value; give <name>=<value>/],
    [['--set', 'sku.a=1'], /--set 'sku\.a': sku is not an object/],
    [['--set', '__proto__.a=1'], /--set '__proto__\.a' is not a path of names/],
    [['--signal', 'x={'], /--signal x is not JSON/],
    [['--approve', 'a', '--reject', 'a'], /'a' is in --approve and in --reject/],
    [['--aprove', 'a'], /Did you mean '--approve'\?/],
    [['--set', 'amount=many'], /SAGA_VALIDATION: .*input\.amount: must be number/],
  ])('refuses %j', async (words, problem) => {
    const { code, error } = await order(...words);
    expect([code, await log()]).toEqual([2, ['']]);
    expect(error).toMatch(problem);
  });

  test('refuses the name of a saga', async () => {
    expect(await run('place-order')).toMatchObject({
      code: 2,
      error: expect.stringMatching(/'place-order' is not a YAML or JSON file.*use saga start/),
    });
  });
});

describe('saga lint', () => {
  test('says how many sagas are valid', async () => {
    expect(await sagaHere(['lint', path('*.yaml')])).toEqual({
      code: 0,
      out: '3 sagas, no problems\n',
      error: '',
    });
  });

  test('prints the problems of all files, and ends with 1', async () => {
    await write('wrong.yaml', 'saga: wrong\nsteps:\n  a: { exec: { command: [ls] }, timout: 1s }\n');
    const { code, out } = await sagaHere(['lint', path('wrong.yaml'), path('missing.yaml')]);
    expect(code).toBe(1);
    expect(out).toMatch(/wrong\.yaml:3:\d+: .*timout.*Did you mean 'timeout'\?/);
    expect(out).toMatch(/missing\.yaml:1:1: the file cannot be read/);
    const { out: json } = await sagaHere(['lint', path('wrong.yaml'), '--json']);
    expect(JSON.parse(json)).toMatchObject([{ file: path('wrong.yaml'), line: 3 }]);
  });

  test('checks variables with --environment, and not without', async () => {
    await write('get.yaml', 'saga: get\nsteps:\n  a: { http: { url: "{{ env.NOT_SET_HERE }}/a" } }\n');
    expect((await sagaHere(['lint', path('get.yaml')])).code).toBe(0);
    // As saga serve takes it.
    expect((await sagaHere(['lint', path('.')])).code).toBe(0);
    const checked = await sagaHere(['lint', path('get.yaml'), '--environment']);
    expect(checked).toMatchObject({ code: 1, out: expect.stringContaining('NOT_SET_HERE is not set') });
  });
});

test('saga diagram draws a file without a database', async () => {
  const { code, out } = await sagaHere(['diagram', path('place-order.yaml')]);
  expect(code).toBe(0);
  expect(out).toMatch(/flowchart TD\n[^]*reserve --> approve\n {2}approve --> charge/);
  expect(await sagaHere(['diagram', path('parent.yaml')])).toMatchObject({
    code: 2,
    error: expect.stringContaining("there is no saga 'import'"),
  });
});
