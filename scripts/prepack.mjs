/**
 * npm's `prepack` of the library. What stands at the root of the repository, for all of it, belongs into the package, too:
 * npm packs no links, so these are copies, which git ignores. And a tarball keeps the mode that a file has.
 */
import { chmod, copyFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md'])
  await copyFile(path(name), path(`libs/saga/${name}`));
await chmod(path('libs/saga/dist/cli/saga.js'), 0o755);
