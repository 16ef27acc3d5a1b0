/**
 * npm's `prepack` of the library. The README, the license, the changelog and the documentation are those of the repository;
 * npm packs no links, so these are copies, which git ignores. And a tarball keeps the mode that a file has.
 *
 * A copy that is as it has to be is left alone, and others are replaced at once: another `npm pack` may be reading them.
 */
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagedPages } from './packaged-pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const library = join(root, 'libs/saga');
const pages = new Map(packagedPages(root));

const named = await readdir(join(library, 'docs'), { recursive: true, withFileTypes: true }).catch(() => []);
for (const entry of named) {
  const path = join(entry.parentPath, entry.name);
  if (entry.isFile() && !pages.has(relative(library, path).replaceAll('\\', '/')))
    await rm(path, { force: true });
}
for (const [name, text] of pages) {
  const wanted = text === undefined ? await readFile(join(root, name)) : Buffer.from(text);
  const path = join(library, name);
  const there = await readFile(path).catch(() => undefined);
  if (there?.equals(wanted)) continue;
  const unfinished = join(library, `.prepack-${process.pid}`);
  await writeFile(unfinished, wanted);
  await mkdir(dirname(path), { recursive: true });
  await rename(unfinished, path);
}
await chmod(join(library, 'dist/cli/saga.js'), 0o755);
