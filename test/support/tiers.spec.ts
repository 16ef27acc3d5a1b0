import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LONGEST } from './longest-first.mjs';
import { specsOf, type Tier, TIERS } from './tiers.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const NOT_OURS = ['node_modules', 'dist', '.git'];
const NAMES = Object.keys(TIERS) as Tier[];

/** Paths from the root of the repository. */
function specsBelow(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.includes(entry.name) ? [] : specsBelow(path);
    return /\.spec\.[cm]?[jt]sx?$/.test(entry.name) ? [path] : [];
  });
}

function tiersOf(path: string): Tier[] {
  return NAMES.filter((tier) => new RegExp(specsOf(tier, ROOT)).test(`${ROOT}/${path}`));
}

test('each spec of the repository is in exactly one tier', () => {
  const specs = specsBelow();
  expect(specs).toContain('test/support/tiers.spec.ts');
  expect(specs.filter((path) => tiersOf(path).length !== 1)).toEqual([]);
});

test.each([
  ['libs/saga/src/engine/payload.spec.ts', 'unit'],
  ['libs/saga/src/store/postgres/claim.spec.ts', 'database'],
  ['libs/saga/src/store/memory/claim.spec.ts', 'unit'],
  ['test/sagas/forward/start.spec.ts', 'database'],
  ['test/sagas/start/start.spec.ts', 'system'],
  ['test/sagas/forward/start.system.spec.ts', 'system'],
  ['test/sagas/plans/claim.unit.spec.ts', 'unit'],
  ['test/sagas/plans/claim.slow.spec.ts', 'slow'],
] as const)('%s would be in the tier %s', (path, tier) => {
  expect(tiersOf(path)).toEqual([tier]);
});

test.each(['bench/lib/counters.spec.ts', 'test/elsewhere/some.spec.ts', 'libs/saga/src/some.spec.mts'])(
  '%s would be in no tier',
  (path) => {
    expect(tiersOf(path)).toEqual([]);
  },
);

test('the folders of the tiers exist', () => {
  const folders = Object.values(TIERS).flat();
  expect(folders.filter((folder) => !existsSync(join(ROOT, folder)))).toEqual([]);
});

test('the specs that start first exist', () => {
  expect(LONGEST.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
