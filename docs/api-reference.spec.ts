import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { IMPORTED } from '../rooms.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TYPEDOC = join(dirname(createRequire(import.meta.url).resolve('typedoc/package.json')), 'bin/typedoc');

describe('the reference that is made of the docstrings', () => {
  let out: string;
  beforeEach(async () => {
    out = await mkdtemp(join(tmpdir(), 'reference-'));
  });
  afterEach(() => rm(out, { recursive: true }));

  test('has one for each public thing, and no link that leads nowhere', async () => {
    const complaints = await typedoc('saga', '--out', out);
    expect(complaints).toEqual([]);
    const page = await readFile(join(out, 'index/classes/SagaService.md'), 'utf8');
    expect(page).toContain('Starts a saga. When the promise resolves, the saga is stored');
    expect(page).toContain(
      'SagaConflictError if the id or correlation id belongs to a saga with another input',
    );
  });

  test.each(IMPORTED.filter((name) => name !== 'saga'))(
    'has one for each public thing of the package %s',
    async (name) => expect(await typedoc(name, '--out', out)).toEqual([]),
  );

  test('would tell of a thing without one', async () => {
    const complaints = await typedoc(
      'telemetry',
      ...['--emit', 'none'],
      ...['--intentionallyNotDocumented', 'nothing'],
    );
    expect(complaints.join('\n')).toMatch(/SagaHealth\.__type\.status .*does not have any documentation/);
  });
});

/** What it finds wrong: it ends with an error for a warning, too. */
async function typedoc(name: string, ...options: string[]): Promise<string[]> {
  const run = promisify(execFile)(
    process.execPath,
    [TYPEDOC, '--logLevel', 'Warn', '--skipErrorChecking', ...options],
    { cwd: ROOT, env: { ...process.env, DOCUMENTED: name } },
  );
  const { stdout, stderr } = await run.catch((error: { stdout: string; stderr: string }) => error);
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '');
}
