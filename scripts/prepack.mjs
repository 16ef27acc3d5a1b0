/**
 * npm's `prepack` of the library. The README, the license, the changelog and the documentation are those of the repository;
 * npm packs no links, so these are copies, which git ignores. And a tarball keeps the mode that a file has.
 */
import { chmod, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagedPages } from './packaged-pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const packaged = (name) => `${root}libs/saga/${name}`;

await rm(packaged('docs'), { recursive: true, force: true });
for (const [name, text] of packagedPages(root)) {
  await mkdir(dirname(packaged(name)), { recursive: true });
  if (text === undefined) await copyFile(root + name, packaged(name));
  else await writeFile(packaged(name), text);
}
await chmod(packaged('dist/cli/saga.js'), 0o755);
