import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PACKAGES } from '../../rooms.mjs';
import { type PackedLibrary, packLibrary } from './pack-library.js';

/** `npm run package:check`: the tarball that is published. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TOOLS = join(ROOT, 'node_modules/.bin');

/**
 * Bytes, unpacked. The packages hold code and declarations; the pages of docs/ are on the site. More than this has a reason, which
 * the commit that raises the figure gives.
 */
const BUDGET: Record<string, number> = {
  ...{ saga: 1_500_000, messaging: 190_000, telemetry: 56_000, restate: 200_000 },
  ...{ admin: 300_000, declared: 350_000, cli: 310_000 },
};

interface Manifest {
  readonly version: string;
  readonly peerDependencies?: Record<string, string>;
  readonly peerDependenciesMeta?: Record<string, unknown>;
  readonly exports: Record<string, string | { readonly types: string; readonly default: string }>;
  readonly bin?: Record<string, string>;
  readonly dependencies?: Record<string, string>;
  readonly scripts?: Record<string, string>;
}

describe.each(Object.keys(PACKAGES))('the package %s', (name) => {
  let folder: string;
  let packed: PackedLibrary;
  let manifest: Manifest;
  const paths = (): string[] => packed.files.map(({ path }) => path);
  const read = (path: string): string => readFileSync(join(folder, 'package', path), 'utf8');

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'saga-package-'));
    packed = await packLibrary(folder, name);
    await run('tar', ['xzf', packed.filename], { cwd: folder });
    manifest = JSON.parse(read('package.json')) as Manifest;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('has nothing that publint complains of', async () => {
    const { stdout } = await run(join(TOOLS, 'publint'), ['run', packed.tarball, '--strict']);
    expect(stdout).toContain('All good!');
  });

  it('has types that fit its code, however they are resolved', async () => {
    // Left out is `cjs-resolves-to-esm`, which says that require() of an ES module fails: it does where Node
    // is older than
    // what `engines` asks for (20.19). The profile leaves out `moduleResolution: node10`, which knows no
    // entry points.
    const options = ['--profile', 'node16', '--ignore-rules', 'cjs-resolves-to-esm'];
    const { stdout } = await run(join(TOOLS, 'attw'), [
      packed.tarball,
      ...options,
      '--no-color',
      '--no-emoji',
    ]);
    for (const entry of Object.keys(manifest.exports)) expect(stdout).toContain(join(packed.name, entry));
  });

  it('contains what is built, its README and the license, and nothing else', () => {
    const others = paths().filter((path) => !path.startsWith('dist/'));
    const ofCore = name === 'saga' ? ['CHANGELOG.md', 'llms.txt', 'nest-add.json'] : [];
    expect(others.sort()).toEqual([...ofCore, 'LICENSE', 'README.md', 'package.json'].sort());
    const strange = paths()
      .filter((path) => path.startsWith('dist/'))
      .filter((path) => !/\.(c?js|d\.ts)$/.test(path) && !path.startsWith('dist/dashboard/'))
      .filter((path) => path !== 'dist/declared-saga.schema.json');
    expect(strange).toEqual([]);
  });

  it('holds no tests, and none of the contracts that stores are held to', () => {
    expect(paths().filter((path) => /\.(spec|contract|test|mutants)\.|\/__|fixture/.test(path))).toEqual([]);
  });

  it('has a module for all types', () => {
    const types = paths().filter((path) => path.endsWith('.d.ts'));
    expect(paths()).toEqual(expect.arrayContaining(types.map((path) => path.replace(/\.d\.ts$/, '.js'))));
  });

  it('has types by the names that the sources give them: no bundler had to tell two of one name apart', () => {
    const types = paths().filter((path) => path.endsWith('.d.ts'));
    expect(types.flatMap((path) => read(path).match(/\b\w+\$\d+\b/g) ?? [])).toEqual([]);
  });

  it('checks packages that an application may be without in the declarations of their own entries only', () => {
    const optional = [...Object.keys(manifest.peerDependenciesMeta ?? {}), 'pg'];
    const entries = Object.values(manifest.exports).map((one) => typeof one === 'object' && join(one.types));
    const checked = paths()
      .filter((path) => path.endsWith('.d.ts') && name === 'saga' && !entries.includes(path))
      .flatMap((path) => read(path).match(/(?<!@ts-ignore.*\n)^import .* from '[^.].*';$/gm) ?? [])
      .filter((line) => optional.includes(/from '(.*)'/.exec(line)![1]!));
    expect(checked).toEqual([]);
  });

  it('points to no source maps, since it holds no sources', () => {
    const pointing = paths().filter(
      (path) => /\.(js|ts|css)$/.test(path) && /sourceMappingURL=/.test(read(path)),
    );
    expect(pointing).toEqual([]);
    expect(paths().filter((path) => path.endsWith('.map'))).toEqual([]);
  });

  it('has the license of the repository', () => {
    expect(read('LICENSE')).toBe(readFileSync(join(ROOT, 'LICENSE'), 'utf8'));
  });

  it('has the words of its page', () => {
    const words = (text: string) => text.replace(/!?\[((?:[^[\]]|\[[^\]]*\])*)\]\([^)]*\)/g, '$1');
    const page = name === 'saga' ? 'README.md' : `docs/packages/${name}.md`;
    const withoutPictures = (text: string) => text.replace(/!\[[^\]]*\](?:\([^)]*\))?/g, '');
    expect(words(withoutPictures(read('README.md')))).toBe(
      words(withoutPictures(readFileSync(join(ROOT, page), 'utf8'))),
    );
  });

  it('depends on the other packages in its own version', () => {
    const { dependencies, peerDependencies, version } = manifest;
    const own = Object.entries({ ...dependencies, ...peerDependencies }).filter(([other]) =>
      other.startsWith('nestjs-durable-saga'),
    );
    expect(own.map(([, range]) => range.replace('^', ''))).toEqual(own.map(() => version));
  });

  it('holds what its entry points name', () => {
    const named = Object.values(manifest.exports).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : [entry.types, entry.default],
    );
    expect(named.length).toBeGreaterThan(name === 'saga' ? 10 : 0);
    for (const path of named) expect(paths()).toContain(path.replace('./', ''));
  });

  it('runs nothing on the machine of who installs it', () => {
    const atInstall = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish'];
    expect(Object.keys(manifest.scripts ?? {}).filter((name) => atInstall.includes(name))).toEqual([]);
    // npm runs node-gyp where there is one.
    expect(paths()).not.toContain('binding.gyp');
  });

  it('has commands that can be executed', () => {
    const bin = manifest.bin ?? {};
    expect(Object.keys(bin)).toEqual(name === 'cli' ? ['nestjs-durable-saga-cli', 'saga'] : []);
    for (const path of Object.values(bin).map((value) => value.replace('./', ''))) {
      expect(read(path)).toMatch(/^#!\/usr\/bin\/env node\n/);
      expect(packed.files.find((file) => file.path === path)!.mode & 0o111).toBe(0o111);
    }
  });

  it('stays within its budget', () => {
    expect(packed.unpackedSize).toBeLessThan(BUDGET[name]!);
  });

  it('brings along only what runs nothing at its installation either', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const paths = Object.keys(lock.packages).filter((path) =>
      Object.keys(manifest.dependencies ?? {}).some((one) => path.endsWith(`node_modules/${one}`)),
    );
    expect(paths.filter((path) => lock.packages[path]!.hasInstallScript)).toEqual([]);
  });
});

test('the core has an SBOM that lists what it depends on, and nothing else', async () => {
  const { stdout } = await run(process.execPath, [join(ROOT, 'scripts/sbom.mjs')]);
  const { bomFormat, metadata, components, dependencies } = JSON.parse(stdout) as Sbom;
  expect(bomFormat).toBe('CycloneDX');
  expect(metadata.component.name).toBe('nestjs-durable-saga');
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const expected = [...runtimeDependencies('saga', lock)].sort();
  expect(components.map(({ purl }) => purl).sort()).toEqual(expected);
  expect(components.every((one) => one.name !== '' && one.licenses.length > 0)).toBe(true);
  expect(dependencies.map(({ ref }) => ref)).toContain(metadata.component['bom-ref']);
});

interface Sbom {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly 'bom-ref': string } };
  readonly components: readonly {
    readonly name: string;
    readonly purl: string;
    readonly licenses: readonly unknown[];
  }[];
  readonly dependencies: readonly { readonly ref: string }[];
}

interface Lock {
  readonly packages: Record<
    string,
    {
      readonly version: string;
      readonly hasInstallScript?: boolean;
      readonly link?: boolean;
      readonly resolved?: string;
      readonly dependencies?: Record<string, string>;
      readonly peerDependencies?: Record<string, string>;
    }
  >;
}

/** Package URLs of what a package below libs/ brings along, by the lock file: as npm looks things up. */
function runtimeDependencies(library: string, { packages }: Lock): Set<string> {
  const found = new Set<string>();
  const visit = (names: string[], from: string): void => {
    for (const name of names) {
      const [path] = [
        `${from}/node_modules/${name}`,
        `libs/${library}/node_modules/${name}`,
        `node_modules/${name}`,
      ].filter((candidate) => candidate in packages);
      const { link, resolved } = packages[path!]!;
      const folder = link ? resolved! : path!;
      const purl = `pkg:npm/${name.replace('@', '%40')}@${packages[folder]!.version}`;
      if (found.has(purl)) continue;
      found.add(purl);
      visit(broughtBy(packages[folder]!), folder);
    }
  };
  visit(broughtBy(packages[`libs/${library}`]!), `libs/${library}`);
  return found;
}

/** The dependencies of a package, and those of its peers that are packages of this repository. */
function broughtBy({ dependencies = {}, peerDependencies = {} }: Lock['packages'][string]): string[] {
  const own = Object.keys(peerDependencies).filter((name) => name.startsWith('nestjs-durable-saga'));
  return [...Object.keys(dependencies), ...own];
}
