import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** Found like any package, because programs of tests are compiled into another folder. */
const PRISMA = dirname(createRequire(import.meta.url).resolve('prisma/package.json'));
/** Packages are found from here. A client loads parts of itself when it connects, and so must stay. */
const CACHE = join(PRISMA, '../.cache/prisma-clients');

/**
 * Returns the folder of the client that `prisma generate` makes of a schema. It is made once; the download of an engine,
 * which a client does not need, is left out.
 * @param schema whose generator has the output `client`
 */
export async function prismaClientOf(schema: string): Promise<string> {
  const folder = join(CACHE, createHash('sha256').update(schema).digest('hex').slice(0, 16));
  if (existsSync(folder)) return join(folder, 'client');
  await mkdir(dirname(folder), { recursive: true });
  const made = await mkdtemp(`${folder}-`);
  const file = join(made, 'schema.prisma');
  await writeFile(file, schema);
  const env = { ...process.env, NODE_OPTIONS: '', PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  const cli = join(PRISMA, 'build/index.js');
  await run(process.execPath, [cli, 'generate', '--schema', file], { cwd: join(PRISMA, '../..'), env });
  // Another process may have been quicker.
  await rename(made, folder).catch(() => rm(made, { recursive: true }));
  return join(folder, 'client');
}
