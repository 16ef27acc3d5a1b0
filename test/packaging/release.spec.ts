import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'libs/saga/package.json'), 'utf8')) as {
  version: string;
};

/** The SQL that a release's migrations execute. */
const FROZEN = 'libs/saga/src/store/postgres/schema/frozen';

/** What the registry has of the dependency that is vulnerable. */
const PACKUMENT = {
  name: 'uuid',
  'dist-tags': { latest: '14.0.3' },
  versions: { '14.0.3': { name: 'uuid', version: '14.0.3' } },
};

let folder: string;
let registry: Server;
/** What the registry answers when it is asked for vulnerabilities. */
let advisories: { status: number; body: unknown };

/** A repository with this one's scripts, whose package:check ends with the given result. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'saga-release-'));
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  mkdirSync(join(folder, 'libs/saga'), { recursive: true });
  for (const file of ['libs/saga/package.json', 'package-lock.json', 'rooms.mjs'])
    cpSync(join(ROOT, file), join(folder, file));
  const { workspaces, ...root } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
    string,
    object
  >;
  write(
    'package.json',
    JSON.stringify({ ...root, workspaces: ['libs/saga'], scripts: { 'package:check': 'exit $RED' } }),
  );
  expect(workspaces).toContain('libs/*');
  mkdirSync(join(folder, FROZEN), { recursive: true });
  write(`${FROZEN}/tables.sql.ts`, '');
  write('.gitignore', 'release/\n');
  write('CHANGELOG.md', `# Changelog\n\n## Unreleased\n\n## ${version}\n\n- First version.\n`);
  git('init', '-q');
  commit();
  advisories = { status: 200, body: {} };
  registry = createServer((request, response) => {
    const { status, body } = request.method === 'POST' ? advisories : { status: 200, body: PACKUMENT };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  registry.closeAllConnections();
  await new Promise((resolve) => registry.close(resolve));
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}
function git(...parameters: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@a.example', ...parameters], { cwd: folder });
}
function commit(): void {
  git('add', '-A');
  git('commit', '-qm', 'All of it');
}

interface Ended {
  readonly code: number;
  readonly said: string;
}

function runScript(
  script: string,
  parameters: string[] = [],
  env: Record<string, string> = {},
): Promise<Ended> {
  const { port } = registry.address() as { port: number };
  const surroundings = { PATH: process.env.PATH, HOME: folder, npm_config_fetch_retries: '0', RED: '0' };
  const options = {
    cwd: folder,
    env: { ...surroundings, npm_config_registry: `http://127.0.0.1:${port}`, ...env },
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [join('scripts', script), ...parameters], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, said: stdout + stderr }),
    );
  });
}

describe('a release is refused', () => {
  test('with uncommitted changes and without its section in the changelog, saying both', async () => {
    write(
      'CHANGELOG.md',
      `# Changelog\n\n## Unreleased\n\n- Something.\n\n## ${version}\n\n## 0.0.9\n\n- Old.\n`,
    );
    const { code, said } = await runScript('release.mjs');
    expect(code).toBe(1);
    expect(said).toContain('M CHANGELOG.md');
    expect(said).toContain(`CHANGELOG.md has no entries under "## ${version}"`);
  });

  test('with migrations whose SQL a later change would change', async () => {
    rmSync(join(folder, FROZEN), { recursive: true });
    commit();
    const { code, said } = await runScript('release.mjs');
    expect(code).toBe(1);
    expect(said).toContain('Write their SQL as texts into libs/saga/src/store/postgres/schema/frozen');
  });

  test('with a red package:check', async () => {
    const { code } = await runScript('release.mjs', [], { RED: '1' });
    expect(code).not.toBe(0);
    expect(existsSync(join(folder, 'release', `nestjs-durable-saga-${version}.tgz`))).toBe(false);
  });

  test('to be published from elsewhere than the workflow, or without the repository that provenance names', async () => {
    const here = await runScript('release.mjs', ['--publish']);
    expect(here.code).toBe(1);
    expect(here.said).toContain('run the workflow "release"');
    const workflow = { ACTIONS_ID_TOKEN_REQUEST_URL: 'http://127.0.0.1:1', GITHUB_REPOSITORY: 'some/where' };
    const there = await runScript('release.mjs', ['--publish'], workflow);
    expect(there.code).toBe(1);
    expect(there.said).toContain('git+https://github.com/some/where.git');
  });

  test('when the registry cannot be asked for known vulnerabilities', async () => {
    advisories = { status: 405, body: {} };
    const { code, said } = await runScript('release.mjs');
    expect(code).toBe(1);
    expect(said).toMatch(/Not released:\n- The registry could not be asked for known vulnerabilities/);
  });
});

describe('npm run audit:runtime', () => {
  test('ends with 0 where nothing is known', async () => {
    expect(await runScript('audit.mjs')).toEqual({
      code: 0,
      said: 'No known vulnerabilities in runtime dependencies.\n',
    });
  });

  test('ends with 2 if the registry cannot be asked, whatever the cause', async () => {
    advisories = { status: 503, body: { error: 'down' } };
    expect((await runScript('audit.mjs')).code).toBe(2);
    const unreachable = await runScript('audit.mjs', [], { npm_config_registry: 'http://127.0.0.1:1' });
    expect(unreachable.code).toBe(2);
    expect(unreachable.said).toContain('so the result is unknown');
  });

  test('ends with 1 where a dependency is vulnerable, and names it', async () => {
    const [advisory] = [
      { id: 1, url: 'https://a.example', title: 'bad', severity: 'high', vulnerable_versions: '*' },
    ];
    advisories = { status: 200, body: { uuid: [advisory] } };
    expect(await runScript('audit.mjs')).toEqual({ code: 1, said: 'Known vulnerabilities: uuid\n' });
  });
});
