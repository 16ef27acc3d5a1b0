/**
 * Copies what tsc has not compiled, beside the sources that it has compiled into a folder: the CommonJS files of the packages,
 * and the modules of the repository that programs import:
 * node scripts/copy-commonjs.mjs test/simulation/dist
 */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../rooms.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [output] = process.argv.slice(2);
for (const name of ['rooms.mjs', 'scripts/sql.mjs']) cpSync(join(root, name), join(root, output, name));
for (const sources of Object.keys(PACKAGES).map((name) => `libs/${name}/src`))
  for (const name of readdirSync(join(root, sources), { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.cjs')) cpSync(join(root, sources, name), join(root, output, sources, name));
