/**
 * npm's `prepack` of a package below libs/: node ../../scripts/prepack.mjs admin. What the package shares with the repository
 * (packaged-pages.mjs) is copied into its folder, where git ignores it: npm packs no links.
 *
 * A copy that is as it has to be is left alone, and others are replaced at once: another `npm pack` may be reading them.
 */
import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packagedPages } from './packaged-pages.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [name] = process.argv.slice(2);
const library = join(root, 'libs', name);

for (const [file, text] of packagedPages(root, name)) {
  const path = join(library, file);
  const there = await readFile(path, 'utf8').catch(() => undefined);
  if (there === text) continue;
  const unfinished = join(library, `.prepack-${process.pid}`);
  await writeFile(unfinished, text);
  await rename(unfinished, path);
}
// A tarball keeps the mode that a file has.
const { bin = {} } = JSON.parse(await readFile(join(library, 'package.json'), 'utf8'));
for (const path of new Set(Object.values(bin))) await chmod(join(library, path), 0o755);
