import { posix } from 'node:path';
import { DATABASE_FOLDER } from './database-module.js';
import { readOr } from './file-change.js';
import { type DatabaseParts, NEW_POOL } from './layer-parts.js';
import type { NestApp } from './nest-app.js';

/** Where Prisma looks for its schema. The first is what is written. */
const SCHEMAS = ['prisma/schema.prisma', 'schema.prisma'] as const;
/** Below the sources, so that the compiler emits it beside them. */
const OUTPUT = 'generated/prisma';

/**
 * The parts of Prisma. Its client is generated from a schema: the one of the application, or one that is written.
 */
export function prismaParts(app: NestApp, extension: '.js' | ''): DatabaseParts {
  const own = ownClient(app);
  const client = own ?? posix.join(app.sourceRoot, OUTPUT, 'client');
  return {
    imports: [
      ['{ PrismaPg }', '@prisma/adapter-pg'],
      ['{ prismaDatabase }', 'nestjs-durable-saga/prisma'],
      ['{ Pool }', 'pg'],
      ['{ type Prisma, PrismaClient }', specifierOf(app, client, extension)],
    ],
    ...{ database: 'PrismaClient', transaction: 'Prisma.TransactionClient', connect: NEW_POOL },
    overPool:
      'new PrismaClient({\n          adapter: new PrismaPg(pool, { disposeExternalPool: true }),\n        })',
    ...{ adapter: 'prismaDatabase(db)', end: 'this.db.$disconnect()' },
    ...(!client.startsWith('@') && {
      generated: { file: `${client}.ts`, command: ['prisma', 'generate'] },
    }),
    ...(own === undefined && {
      file: {
        path: SCHEMAS[0],
        text: schemaOf(app, extension),
        about: 'the schema of Prisma, for the models of the application',
      },
      ignored: `${app.sourceRoot}/${OUTPUT}/`,
    }),
  };
}

/** Without the settings of a format, Prisma goes by the tsconfig.json. */
function schemaOf({ sourceRoot, isModule }: NestApp, extension: '.js' | ''): string {
  return `generator client {
  provider            = "prisma-client"
  output              = "../${sourceRoot}/${OUTPUT}"
  moduleFormat        = "${isModule ? 'esm' : 'cjs'}"
  importFileExtension = "${extension.slice(1)}"
}

datasource db {
  provider = "postgresql"
}
`;
}

/** The module of the client that the schema of the application generates, from its root. A package begins with @. */
function ownClient(app: NestApp): string | undefined {
  for (const path of SCHEMAS) {
    const schema = readOr(app, path, (text) => text);
    if (schema === undefined) continue;
    const [generator = ''] = /^generator\s[^}]*provider\s*=\s*"prisma-client[^}]*/m.exec(schema) ?? [];
    const [, output] = /^\s*output\s*=\s*"([^"]+)"/m.exec(generator) ?? [];
    if (output === undefined) return '@prisma/client';
    const isJs = generator.includes('"prisma-client-js"');
    return posix.join(posix.dirname(path), output, isJs ? 'index' : 'client');
  }
  return undefined;
}

/** As the module in `src/database` imports it. */
function specifierOf({ sourceRoot }: NestApp, client: string, extension: string): string {
  if (client.startsWith('@')) return client;
  return `${posix.relative(posix.join(sourceRoot, DATABASE_FOLDER), client)}${extension}`;
}
