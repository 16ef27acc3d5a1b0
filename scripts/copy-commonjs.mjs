/**
 * Copies the CommonJS files of the packages beside their sources that tsc has compiled into a folder:
 * node scripts/copy-commonjs.mjs test/simulation/dist
 */
import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../rooms.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
for (const sources of Object.keys(PACKAGES).map((name) => `libs/${name}/src`))
  for (const name of readdirSync(join(root, sources), { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.cjs')) cpSync(join(root, sources, name), join(root, process.argv[2], sources, name));
