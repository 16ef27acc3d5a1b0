/**
 * `npm run check`: a quick check of what changed since `main`, including what is staged, not committed or new. It lints the
 * changed files, checks their format, all types, words and imports, and runs the unit tests that use the changed files.
 * `npm run check -- origin/main` compares with another branch or commit. Ends with 1 if anything fails; `.ci/run` is the
 * whole check.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../rooms.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const JEST = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];
/**
 * Packages that others import by their name, so that the types of these are those of the build: a file of it, and what
 * builds it.
 */
const BUILT = {
  'libs/saga': ['dist/index.js', process.execPath, 'scripts/build-core.mjs'],
  ...Object.fromEntries(
    Object.keys(PACKAGES)
      .filter((name) => name !== 'saga')
      .map((name) => [
        `libs/${name}`,
        [
          `dist/${name === 'cli' ? 'saga' : 'index'}.js`,
          process.execPath,
          'scripts/compile.mjs',
          `libs/${name}`,
        ],
      ]),
  ),
  'libs/demo-support': ['dist/index.js', process.execPath, 'scripts/compile.mjs', 'libs/demo-support'],
  'apps/credit-demo': ['dist/demo/index.js', process.execPath, 'scripts/compile.mjs', 'apps/credit-demo'],
};
/** Its spec looks at all specs of the repository. */
const TIERS = 'test/support/tiers.mjs';
/** Kept between runs, so that the compiler only looks at what changed. */
const TYPES = [
  'node_modules/typescript-7/bin/tsc',
  '--noEmit',
  '--incremental',
  '--tsBuildInfoFile',
  'node_modules/.cache/check-7.tsbuildinfo',
];

const base = mergeBase(process.argv[2] ?? 'main');
const files = changedSince(base);
if (files.length === 0) {
  console.log(`Nothing changed since ${base}.`);
} else {
  console.log(`${files.length} files changed since ${base}.`);
  const scripts = files.filter((file) => /\.(?:ts|mts|mjs|cjs|js)$/.test(file));
  const failed = [
    ...Object.keys(BUILT)
      .filter(isOutdated)
      .map((folder) => [`build of ${folder}`, BUILT[folder][1], BUILT[folder].slice(2)]),
    ['types', process.execPath, TYPES],
    ...(scripts.length > 0 ? [['lint', 'npx', ['oxlint', ...scripts]]] : []),
    ['words', process.execPath, ['scripts/check-words.mjs']],
    ...(scripts.length > 0 ? [['imports between folders', 'npm', ['run', '--silent', 'lint:rooms']]] : []),
    ['format', 'npx', ['oxfmt', '--check', '--no-error-on-unmatched-pattern', ...files]],
    [
      'unit tests',
      process.execPath,
      [...JEST, '--selectProjects', 'unit', '--findRelatedTests', TIERS, ...scripts],
    ],
  ].filter(([name, command, args]) => !passes(name, command, args));
  if (failed.length > 0) {
    console.error(`Failed: ${failed.map(([name]) => name).join(', ')}`);
    process.exitCode = 1;
  }
}

function isOutdated(folder) {
  const output = join(ROOT, folder, BUILT[folder][0]);
  if (!existsSync(output)) return true;
  const { mtimeMs } = statSync(output);
  const sources = join(ROOT, folder, 'src');
  return readdirSync(sources, { recursive: true }).some(
    (file) => statSync(join(sources, file)).mtimeMs > mtimeMs,
  );
}

function passes(name, command, args) {
  const began = performance.now();
  const { status, error } = spawnSync(command, args, { cwd: ROOT, stdio: 'inherit' });
  if (error) throw error;
  console.log(`${name}: ${status === 0 ? 'passed' : 'failed'} (${seconds(performance.now() - began)} s)`);
  return status === 0;
}

function seconds(ms) {
  return (ms / 1_000).toFixed(1);
}

function mergeBase(branch) {
  return git('merge-base', 'HEAD', branch)[0];
}

/** Paths from the root of the repository; files that were deleted are left out. */
function changedSince(commit) {
  const paths = [...git('diff', '--name-only', commit), ...git('ls-files', '--others', '--exclude-standard')];
  return [...new Set(paths)].filter((path) => existsSync(`${ROOT}/${path}`)).sort();
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr.trim()}`);
  return stdout.split('\n').filter((line) => line !== '');
}
