import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PrismaPg } from '@prisma/adapter-pg';
import type { PrismaDatabaseClient } from 'nestjs-durable-saga/prisma';
import type { NewOrder, OrderChange } from './orm.js';

const SCHEMA = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url));
const require = createRequire(import.meta.url);
const PRISMA = dirname(require.resolve('prisma/package.json'));
/** The client finds its packages from here. */
const CACHE = join(PRISMA, '../.cache/order-demo');
const run = promisify(execFile);

/** The part of the generated client that the demo uses. An application imports the types that Prisma generates. */
export interface PrismaClient extends PrismaDatabaseClient {
  readonly order: {
    createMany(options: { data: NewOrder[]; skipDuplicates: boolean }): PromiseLike<{ count: number }>;
    update(options: { where: { id: string }; data: OrderChange }): PromiseLike<unknown>;
  };
  $disconnect(): Promise<void>;
}

/** Returns the class of the client, which the first process that needs it generates from the schema. */
export async function loadPrismaClient(): Promise<new (options: { adapter: PrismaPg }) => PrismaClient> {
  const version = createHash('sha256')
    .update(await readFile(SCHEMA))
    .digest('hex');
  const folder = join(CACHE, version.slice(0, 16));
  if (!existsSync(folder)) await generate(folder);
  const client = require(join(folder, 'client')) as {
    PrismaClient: new (options: { adapter: PrismaPg }) => PrismaClient;
  };
  return client.PrismaClient;
}

/** An application runs `npx prisma generate` before it is compiled. */
async function generate(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const made = await mkdtemp(`${folder}-`);
  await copyFile(SCHEMA, join(made, 'schema.prisma'));
  // A client over a driver adapter needs no engine, whose download is left out.
  const env = { ...process.env, NODE_OPTIONS: '', PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  const cli = join(PRISMA, 'build/index.js');
  await run(process.execPath, [cli, 'generate', '--schema', join(made, 'schema.prisma')], { cwd: made, env });
  // Another process may have been quicker.
  await rename(made, folder).catch(() => rm(made, { recursive: true }));
}
