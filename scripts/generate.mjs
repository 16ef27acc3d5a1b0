/**
 * `npm run generate` writes every generated file and formats it. The specs that compare these files write them: those with
 * `npm run generate` in their names.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sqlModule } from './sql.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

function run(...words) {
  const env = { ...process.env, GENERATE: '1' };
  const { status } = spawnSync(process.execPath, words, { cwd: ROOT, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

// The build needs it.
const STORE = `${ROOT}libs/saga/src/store/postgres`;
writeFileSync(`${STORE}/sql.generated.ts`, sqlModule(STORE));

run('scripts/build-packages.mjs');
run(
  ...['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'],
  ...['--config', 'jest.generate.mjs', '--testNamePattern', 'npm run generate'],
);
run('node_modules/oxfmt/bin/oxfmt', 'docs', 'libs/declared/src');
