import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { run } from './commands.mjs';

/** The command line of Prisma that this repository has, so that no row installs its 130 packages. */
const CLI = createRequire(import.meta.url).resolve('prisma/build/index.js');

/** As `saga init` writes it, with a model for the table of layer.ts. */
const schemaOf = (format) => `generator client {
  provider            = "prisma-client"
  output              = "../src/generated/prisma"
  moduleFormat        = "${format === 'module' ? 'esm' : 'cjs'}"
  importFileExtension = "${format === 'module' ? 'js' : ''}"
}

datasource db {
  provider = "postgresql"
}

model Booking {
  what String @id

  @@map("booking")
}
`;

/**
 * Generates the client of Prisma below the sources of a consumer. It needs no engine, whose download is left out.
 * @param {string} folder of the project
 * @param {'module' | 'commonjs'} format of the consumer
 */
export async function generatePrismaClient(folder, format) {
  await mkdir(join(folder, 'prisma'));
  await writeFile(join(folder, 'prisma/schema.prisma'), schemaOf(format));
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  await run(process.execPath, [CLI, 'generate'], { cwd: folder, env });
}
