import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '../libs/cli/src/commands/serve.js';
import { createTestDatabase, type TestDatabase } from '../test/support/test-database.js';

const run = promisify(execFile);
const PAGE = fileURLToPath(new URL('daemon.md', import.meta.url));
const BIN = fileURLToPath(new URL('../libs/cli/dist/saga.js', import.meta.url));
const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));
const SHELL = fileURLToPath(new URL('clients/place-order.sh', import.meta.url));
const PYTHON = fileURLToPath(new URL('clients/place_order.py', import.meta.url));
const [BEGIN, END] = ['<!-- options -->\n', '<!-- /options -->'];
const TOKEN = 'the-token-of-the-page';

const page = (): string => readFileSync(PAGE, 'utf8');
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'm').exec(page())![1]!;

/** `python3`, or undefined: this machine has none that runs. */
function python(): string | undefined {
  try {
    execFileSync('python3', ['--version'], { stdio: 'ignore' });
    return 'python3';
  } catch {
    return undefined;
  }
}

test('has every option of saga serve, and no other (npm run generate)', () => {
  const text = page();
  const [from, to] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  const rows = Object.entries(serve.options).map(([name, { value, about }]) => {
    const words = value === undefined ? `--${name}` : `--${name} ${value}`;
    return `| \`${words}\` | ${about} |`;
  });
  const table = ['| option | what it does |', '| --- | --- |', ...rows].join('\n');
  if (process.env.GENERATE) writeFileSync(PAGE, `${text.slice(0, from)}\n${table}\n\n${text.slice(to)}`);
  const cells = (shown: string) =>
    shown
      .trim()
      .split('\n')
      .map((row) => row.replace(/[ -]+/g, ' '));
  expect(cells(page().slice(from, page().indexOf(END)))).toEqual(cells(table));
});

test('shows the programs of docs/clients', () => {
  expect([block('bash'), block('python')]).toEqual([SHELL, PYTHON].map((file) => readFileSync(file, 'utf8')));
});

describe('a daemon as the page starts it', () => {
  let folder: string;
  let database: TestDatabase;
  let daemon: ReturnType<typeof spawn>;
  let environment: NodeJS.ProcessEnv;
  const lines: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    folder = mkdtempSync(join(tmpdir(), 'daemon-page-'));
    symlinkSync(MODULES, join(folder, 'node_modules'));
    mkdirSync(join(folder, 'sagas'));
    writeFileSync(join(folder, 'sagas/place-order.yaml'), block('yaml'));
    const env = { ...process.env, NODE_OPTIONS: '', DATABASE_URL: database.url, SAGA_TOKEN: TOKEN };
    daemon = spawn(process.execPath, [BIN, 'serve', 'sagas/', '--port', '0'], {
      ...{ cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] },
    });
    const url = await new Promise<string>((resolve, reject) => {
      daemon.once('exit', (code) => reject(new Error(`saga serve ended with ${code}`)));
      createInterface({ input: daemon.stdout! }).on('line', (line) => {
        lines.push(line);
        const [, found] = / at (http:\S+)\/sagas\//.exec(line) ?? [];
        if (found !== undefined) resolve(found);
      });
    });
    environment = { ...env, SAGA_URL: url };
  });

  afterAll(async () => {
    if (daemon.exitCode === null) daemon.kill('SIGKILL');
    await database.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('a shell script starts an order, approves it, and sees its end', async () => {
    const { stdout } = await run('sh', [SHELL], { env: environment });
    expect(stdout).toMatch(/^started [0-9a-f-]{36}\napproved\ncompleted\n$/);
  });

  const found = python();
  const title = 'a Python program does the same, and shows each step';
  if (found === undefined) test.skip(`${title}: SKIPPED, there is no python3`, () => undefined);
  else
    test(title, async () => {
      const { stdout } = await run(found, [PYTHON], { env: environment });
      expect(stdout).toMatch(
        /^reserve completed$[^]*^approve completed$[^]*^charge completed$[^]*^completed$/m,
      );
    });

  test('what clients are generated from describes how a saga is started', async () => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const answer = await fetch(`${environment.SAGA_URL}/openapi.json`, { headers });
    const { paths } = (await answer.json()) as { paths: Record<string, Record<string, { summary: string }>> };
    expect(paths['/sagas/api/sagas']!.post!.summary).toMatch(/^Starts a saga/);
  });

  test('SIGTERM stops it, and its log was JSON, without the token', async () => {
    daemon.removeAllListeners('exit');
    daemon.kill('SIGTERM');
    expect(await once(daemon, 'exit')).toEqual([0, null]);
    const messages = lines.map((line) => (JSON.parse(line) as { message: string }).message);
    expect(messages).toContainEqual(expect.stringMatching(/^Stopping/));
    expect(lines.join()).not.toContain(TOKEN);
  });
});
