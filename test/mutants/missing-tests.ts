import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Killer, Mutant } from './mutant.js';
import { SpecFiles } from './spec-files.js';

/** No test has this in its name: Jest reads the specs and runs nothing. */
const NONE = 'no test has this name';

interface JestReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly fullName: string }[];
  }[];
}

/**
 * The parts of the mutants' patterns of tests that no test has in its name. A killer with such a pattern runs nothing, and
 * would let every mutant survive.
 */
export function missingTests(root: string, mutants: readonly Mutant[]): string[] {
  const files = new SpecFiles(root);
  const wanted = mutants.flatMap(({ killers }) => killers.flatMap((killer) => partsOf(killer, files)));
  const paths = [...new Set(wanted.map(({ path }) => path))];
  if (paths.length === 0) return [];
  const names = testNames(root, paths);
  const missing = wanted.filter(
    ({ path, part }) => !names.get(path)?.some((name) => new RegExp(part, 'i').test(name)),
  );
  return [...new Set(missing.map(({ path, part }) => `No test of ${path} has '${part}' in its name.`))];
}

function partsOf(killer: Killer, files: SpecFiles): { path: string; part: string }[] {
  if (killer.kind !== 'specs' || killer.tests === undefined) return [];
  const parts = killer.tests.split('|');
  return killer.names
    .flatMap((name) => files.named(name))
    .flatMap((path) => parts.map((part) => ({ path, part })));
}

/** The full names of the tests of each file. */
function testNames(root: string, paths: readonly string[]): Map<string, string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'test-names-'));
  try {
    const report = join(folder, 'report.json');
    const args = [
      ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
      join(root, 'node_modules/jest/bin/jest.js'),
      ...[`--testNamePattern=${NONE}`, '--json', `--outputFile=${report}`, '--silent', '--forceExit'],
      ...['--runTestsByPath', ...paths],
    ];
    spawnSync(process.execPath, args, { cwd: root, stdio: 'ignore' });
    const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
    return new Map(
      testResults.map(({ name, assertionResults }) => [
        paths.find((path) => name.endsWith(path))!,
        assertionResults.map(({ fullName }) => fullName),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
