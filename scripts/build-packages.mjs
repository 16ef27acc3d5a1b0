/**
 * `npm run build:libs`: builds the packages below libs/. The core is first, by build-core.mjs. The others
 * follow in the order of rooms.mjs, in which each comes after those that it imports.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../rooms.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const others = Object.keys(PACKAGES).filter((name) => name !== 'saga');

for (const words of [
  ['scripts/build-core.mjs'],
  ['scripts/compile.mjs', ...others.map((name) => `libs/${name}`)],
]) {
  const { status, error } = spawnSync(process.execPath, words, { cwd: ROOT, stdio: 'inherit' });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
