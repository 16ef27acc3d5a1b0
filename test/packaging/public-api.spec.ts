import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/** The entry points, each with its report. */
const ENTRIES = [
  ['nestjs-durable-saga', 'index.d.ts', 'public-api.txt'],
  ['nestjs-durable-saga/testing', 'testing/index.d.ts', 'public-api-testing.txt'],
  ['nestjs-durable-saga/messaging', 'messaging/index.d.ts', 'public-api-messaging.txt'],
  ['nestjs-durable-saga/telemetry', 'telemetry/index.d.ts', 'public-api-telemetry.txt'],
  ['nestjs-durable-saga/declared', 'declared/index.d.ts', 'public-api-declared.txt'],
  ['nestjs-durable-saga/pg', 'databases/pg/index.d.ts', 'public-api-pg.txt'],
  ['nestjs-durable-saga/drizzle', 'databases/drizzle/index.d.ts', 'public-api-drizzle.txt'],
  ['nestjs-durable-saga/kysely', 'databases/kysely/index.d.ts', 'public-api-kysely.txt'],
  ['nestjs-durable-saga/knex', 'databases/knex/index.d.ts', 'public-api-knex.txt'],
  ['nestjs-durable-saga/mikro-orm', 'databases/mikro-orm/index.d.ts', 'public-api-mikro-orm.txt'],
  ['nestjs-durable-saga/prisma', 'databases/prisma/index.d.ts', 'public-api-prisma.txt'],
  ['nestjs-durable-saga/admin', 'admin/index.d.ts', 'public-api-admin.txt'],
] as const;

test.each(ENTRIES)(
  'the public surface of %s changes only together with its report (UPDATE_API_REPORT=1 writes it anew)',
  (_, entry, name) => {
    const file = fileURLToPath(new URL(name, import.meta.url));
    const report = describeExports(built(entry));
    if (process.env.UPDATE_API_REPORT) writeFileSync(file, report);
    expect(report).toBe(readFileSync(file, 'utf8'));
  },
);

/** One program for all entries, which share most of their files. */
const program = ts.createProgram(
  ENTRIES.map(([, entry]) => built(entry)),
  {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    noErrorTruncation: true,
  },
);

function built(entry: string): string {
  return fileURLToPath(new URL(`../../libs/saga/dist/${entry}`, import.meta.url));
}

/** Every export with its members and their types, in one text that shows each change in a diff. */
function describeExports(entry: string): string {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(entry)!;
  const exports = checker.getExportsOfModule(checker.getSymbolAtLocation(source)!);
  const lines = exports
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((symbol) => (symbol.declarations ?? []).map(withoutPrivates).join('\n'));
  return `${lines.join('\n\n')}\n`;
}

function withoutPrivates(declaration: ts.Declaration): string {
  const printer = ts.createPrinter({ removeComments: true });
  const file = declaration.getSourceFile();
  const node = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  return printer
    .printNode(ts.EmitHint.Unspecified, node, file)
    .split('\n')
    .filter((line) => !/^\s*private /.test(line))
    .join('\n');
}
