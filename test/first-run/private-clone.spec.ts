import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { isRoot, privateFolder } from './support/private-folder.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SOURCES = [
  'apps',
  'docs',
  'libs',
  'test',
  'package.json',
  'jest.config.mjs',
  'nest-cli.json',
  'tsconfig.json',
];

/** PostgreSQL does not run as root: its other account cannot enter these folders. Others than root have no such account. */
const asRoot = isRoot ? describe : describe.skip;

asRoot('for root, in a clone below a folder of mode 700, with a private TMPDIR and umask 077,', () => {
  let folder: Awaited<ReturnType<typeof privateFolder>>;
  let clone: string;

  beforeAll(async () => {
    // On the file system of the repository, so that its packages can be linked to.
    folder = await privateFolder(ROOT);
    clone = join(folder.path, 'clone');
    await mkdir(join(folder.path, 'tmp'));
    await mkdir(clone);
    for (const name of SOURCES)
      await cp(join(ROOT, name), join(clone, name), { recursive: true, verbatimSymlinks: true });
    await run('cp', ['-al', join(ROOT, 'node_modules'), join(clone, 'node_modules')]);
  });
  afterAll(() => folder.remove());

  /** @returns what it wrote */
  async function inClone(command: string): Promise<string> {
    const {
      TEST_DATABASE_URL: _,
      DATABASE_URL: __,
      NODE_ENV: ___,
      JEST_WORKER_ID: ____,
      ...inherited
    } = process.env;
    const env = { ...inherited, NODE_OPTIONS: '', TMPDIR: join(folder.path, 'tmp') };
    try {
      const { stdout, stderr } = await run('sh', ['-c', `umask 077; ${command}`], { cwd: clone, env });
      return stdout + stderr;
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${command}:\n${stdout}${stderr}`, { cause: error });
    }
  }

  test('the demo plays to its end', async () => {
    expect(await inClone('node apps/order-demo/dist/demo/play.js')).toMatch(/add up/);
  });

  test('the tests have their database', async () => {
    expect(await inClone('npm run test:only -- test/sagas/operate/events.spec.ts')).toMatch(
      /Tests: +\d+ passed/,
    );
  });
});
