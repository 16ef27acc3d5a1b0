import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { Refusal, UsageError } from '../command.js';

type Versions = Readonly<Record<string, string>>;

interface PackageJson {
  readonly type?: string;
  readonly packageManager?: string;
  readonly dependencies?: Versions;
  readonly devDependencies?: Versions;
}

interface InstalledPackage {
  readonly version: string;
  readonly dependencies?: Versions;
}

interface NestProject {
  readonly type?: string;
  readonly sourceRoot?: string;
  readonly entryFile?: string;
  readonly nxName?: string;
}

interface NestCli extends NestProject {
  readonly projects?: Readonly<Record<string, NestProject>>;
}

export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun';

/** A Nest application on this disk, as far as its files of configuration tell. */
export interface NestApp {
  /** Where its package.json is. */
  readonly root: string;
  /** The folder of the sources, from the root: `src`. */
  readonly sourceRoot: string;
  /** The name of the entry file: `main.ts`. */
  readonly entryFile: string;
  readonly isModule: boolean;
  readonly nestMajor: number;
  readonly packageManager: PackageManager;
  readonly runner?: 'jest' | 'vitest';
  /** The name of the project in an Nx workspace, which the commands of Nx take. */
  readonly nxName?: string;
  /** The application answers HTTP. */
  readonly hasHttp: boolean;
  /** The application's tests are compiled by esbuild, which leaves no types for injection on classes. */
  readonly testsLackTypes: boolean;
  /** In its package.json. */
  has(dependency: string): boolean;
  /** The version that is installed, also of what another package brings. */
  installed(name: string): string | undefined;
  /** Sources that it may import beside its own: the libraries of a monorepo, and other packages of the workspace. */
  readonly otherSources: readonly string[];
  /** A dependency that depends on @nestjs/typeorm itself, such as @vendure/core: it may connect TypeORM. */
  readonly typeormUser?: string;
}

/**
 * @param project of a monorepo
 * @throws Refusal when there is no Nest application
 * @throws UsageError when it is not said which of several
 */
export function readNestApp(root: string, project?: string): NestApp {
  const file = join(root, 'package.json');
  if (!existsSync(file)) throw noNestApp(`there is no package.json in ${root}`);
  const { type, packageManager, dependencies = {}, devDependencies = {} } = readJson<PackageJson>(file);
  const all: Versions = { ...devDependencies, ...dependencies };
  const has = (name: string): boolean => name in all;
  if (has('@vendure/core')) throw vendure();
  if (!has('@nestjs/core')) throw noNestApp(`${file} does not depend on @nestjs/core`);
  const { sourceRoot = 'src', entryFile = 'main', nxName } = projectOf(root, project);
  const installed = (name: string) => packageOf(root, name)?.json.version;
  return {
    ...{
      root,
      sourceRoot,
      entryFile: `${entryFile}.ts`,
      isModule: type === 'module',
      has,
      installed,
      nxName,
    },
    nestMajor: majorOf(root, '@nestjs/core') ?? Number(/\d+/.exec(all['@nestjs/core']!)?.[0] ?? 12),
    packageManager: managerOf(root, packageManager),
    runner: has('vitest') ? 'vitest' : has('jest') ? 'jest' : undefined,
    hasHttp: has('@nestjs/platform-express') || has('@nestjs/platform-fastify'),
    otherSources: [
      ...librariesOf(root),
      ...linkedPackages(
        root,
        Object.keys(all).filter((name) => name !== 'nestjs-durable-saga'),
      ),
    ],
    typeormUser: Object.keys(dependencies).find((name) => {
      const { dependencies: own = {} } = packageOf(root, name)?.json ?? {};
      return name !== '@nestjs/typeorm' && '@nestjs/typeorm' in own;
    }),
    testsLackTypes: has('vitest') && !has('unplugin-swc') && (majorOf(root, 'vite') ?? 8) < 8,
  };
}

function noNestApp(reason: string): Refusal {
  return new Refusal(
    `This is not a Nest application: ${reason}. Run saga init in the folder of a Nest application; npx @nestjs/cli new shop creates one`,
    'NO_NEST_APP',
  );
}

function vendure(): Refusal {
  return new Refusal(
    'This is a Vendure project: it has no root module of its own, and Vendure connects the database. ' +
      'docs/vendure.md of nestjs-durable-saga shows the plugin to write',
    'VENDURE',
  );
}

/** The projects of a Nest application or an Nx workspace, and the file that is named in messages about them. */
function workspaceOf(root: string): NestCli & { readonly file: string } {
  const [nest, nx] = [join(root, 'nest-cli.json'), join(root, 'nx.json')];
  if (existsSync(nest)) return { file: nest, ...readJson<NestCli>(nest) };
  return existsSync(nx) ? { file: nx, projects: nxProjects(root) } : { file: nest };
}

/** The projects of an Nx workspace with sources in `src`. Those whose main.ts creates no Nest application are libraries. */
function nxProjects(root: string): Record<string, NestProject> {
  const projects = foldersBelow(root).flatMap((folder) => {
    const file = ['project.json', 'package.json'].map((name) => join(folder, name)).find(existsSync);
    if (file === undefined || !existsSync(join(folder, 'src'))) return [];
    const { name = basename(folder) } = readJson<{ name?: string }>(file);
    const main = join(folder, 'src/main.ts');
    const isNest = existsSync(main) && readFileSync(main, 'utf8').includes('NestFactory');
    const sourceRoot = relative(root, join(folder, 'src')).replaceAll('\\', '/');
    return [[name, { type: isNest ? 'application' : 'library', sourceRoot, nxName: name }] as const];
  });
  return Object.fromEntries(projects);
}

function foldersBelow(root: string): string[] {
  const below = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(\..*|node_modules|dist)$/.test(entry.name))
    .flatMap(({ name }) => foldersBelow(join(root, name)));
  return [root, ...below];
}

/** The sources of the libraries of a monorepo. */
function librariesOf(root: string): string[] {
  return Object.values(workspaceOf(root).projects ?? {})
    .filter(({ type, sourceRoot }) => type === 'library' && sourceRoot !== undefined)
    .map(({ sourceRoot }) => join(root, sourceRoot!))
    .filter((folder) => existsSync(folder));
}

/** Packages of the same workspace: links that lead out of node_modules. */
function linkedPackages(root: string, names: readonly string[]): string[] {
  return names
    .flatMap((name) => packageOf(root, name)?.folder ?? [])
    .map((folder) => realpathSync(folder))
    .filter((folder) => !/[\\/]node_modules[\\/]/.test(folder))
    .map((folder) => (existsSync(join(folder, 'src')) ? join(folder, 'src') : folder));
}

function projectOf(root: string, wanted: string | undefined): NestProject {
  const { file, projects = {}, ...whole } = workspaceOf(root);
  const names = Object.keys(projects).filter((name) => projects[name]!.type !== 'library');
  if (wanted !== undefined) {
    if (names.includes(wanted)) return projects[wanted]!;
    const known = names.length > 0 ? `It has ${names.join(', ')}` : 'It has none: remove --project';
    throw new UsageError(`--project '${wanted}' is not an application of ${file}. ${known}`);
  }
  if (names.length === 0 && file.endsWith('nx.json'))
    throw noNestApp(`no project of ${file} has a src/main.ts with NestFactory`);
  if (names.length > 1) throw new UsageError(`Give --project: ${file} has ${names.join(', ')}`);
  return names.length === 1 ? projects[names[0]!]! : whole;
}

function managerOf(root: string, field = ''): PackageManager {
  const [named] = field.split('@');
  if (named === 'npm' || named === 'pnpm' || named === 'yarn' || named === 'bun') return named;
  const lockFiles = {
    'pnpm-lock.yaml': 'pnpm',
    'yarn.lock': 'yarn',
    'bun.lock': 'bun',
    'bun.lockb': 'bun',
  } as const;
  const found = Object.entries(lockFiles).find(([lockFile]) => existsSync(join(root, lockFile)));
  return found?.[1] ?? 'npm';
}

/** The major version of a package that is installed, directly or with another one. */
function majorOf(root: string, name: string): number | undefined {
  const version = packageOf(root, name)?.json.version;
  return version === undefined ? undefined : Number.parseInt(version, 10);
}

function packageOf(root: string, name: string): { folder: string; json: InstalledPackage } | undefined {
  const { resolve } = createRequire(join(root, 'package.json'));
  const folders = resolve.paths(name) ?? [];
  const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path));
  return file === undefined ? undefined : { folder: dirname(file), json: readJson<InstalledPackage>(file) };
}

/** Whether package.json names the package, and it is in node_modules. */
export function isInstalledIn(root: string, name: string): boolean {
  const { dependencies, devDependencies } = readJson<PackageJson>(join(root, 'package.json'));
  return name in { ...devDependencies, ...dependencies } && packageOf(root, name) !== undefined;
}

/** A source of the application, or one that it may import, has this part. */
export function isInSources({ root, sourceRoot, otherSources }: NestApp, part: RegExp): boolean {
  return [join(root, sourceRoot), ...otherSources].flatMap(sourcesOf).some((source) => part.test(source));
}

/** The folders of the sources of its applications, or of the one that it is. */
export function sourceFoldersOf(root: string): string[] {
  const { projects = {}, sourceRoot = 'src' } = workspaceOf(root);
  const roots = Object.values(projects).map((project) => project.sourceRoot ?? 'src');
  return [...new Set([sourceRoot, ...roots])]
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder));
}

function readJson<T>(file: string): T {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as T;
  } catch (error) {
    throw new Refusal(`${file} is not valid JSON: ${(error as Error).message}`, 'NO_NEST_APP');
  }
}

/** Where the application looks for its database when nothing says otherwise: the usual address of one to develop with. */
export const DEVELOPMENT_URL = 'postgres://postgres:postgres@localhost:5432/postgres';

/** The script that starts a PostgreSQL from npm there, for who has no server. */
export const POSTGRES_SCRIPT = 'saga postgres';

/** What Prisma generates has examples in its comments. */
const GENERATED = 'This is code generated by Prisma';

/**
 * The texts of the TypeScript files below a folder, without those of packages and those that Prisma generated.
 * @throws UsageError if there is no such folder
 */
export function sourcesOf(folder: string): string[] {
  if (!existsSync(folder))
    throw new UsageError(
      `The folder ${folder} does not exist, but nest-cli.json names it as sourceRoot. Create it or correct nest-cli.json`,
    );
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.d.ts'))
    .filter((entry) => !/[\\/]node_modules([\\/]|$)/.test(entry.parentPath.slice(folder.length)))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'))
    .filter((text) => !text.slice(0, 200).includes(GENERATED));
}
