/**
 * Compiles projects with TypeScript 7, which takes a tenth of the processor time of TypeScript 6:
 * node scripts/compile.mjs apps/order-demo libs/admin
 *
 * The core itself is built by Nest's command line: see build-packages.mjs.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** By its path: npm links only one of two packages whose program is named `tsc`. */
const TSC = join(ROOT, 'node_modules/typescript-7/bin/tsc');
/** What a package reads or serves beside its code: CommonJS, JSON, the files of the dashboard. */
const ASSET = /(?<!\.d)\.(cjs|json|js|css|html|svg|png)$/;

for (const project of process.argv.slice(2)) {
  const folder = join(ROOT, project);
  const { compilerOptions } = JSON.parse(readFileSync(join(folder, 'tsconfig.json'), 'utf8'));
  const output = join(folder, compilerOptions.outDir);
  // Nothing is left of files that have gone.
  rmSync(output, { recursive: true, force: true });
  const { status, error } = spawnSync(process.execPath, [TSC, '-p', folder], { stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
  if (project.startsWith('libs/') && existsSync(join(folder, 'src')))
    cpSync(join(folder, 'src'), output, {
      recursive: true,
      filter: (path) => !/\.[^./\\]+$/.test(path) || ASSET.test(path),
    });
}
