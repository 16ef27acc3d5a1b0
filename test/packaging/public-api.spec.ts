import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { entriesOf, IMPORTED } from '../../rooms.mjs';

/** The entry points, each with its declarations and its report; the core's main entry first. */
const ENTRIES = IMPORTED.flatMap((folder) =>
  entriesOf(folder).map(({ specifier, file }) => {
    const [, own = ''] = /^nestjs-durable-saga[-/]?(.*)$/.exec(specifier)!;
    const report = ['public-api', own].filter((part) => part !== '').join('-');
    return [specifier, `../../${folder}/dist/${file}.d.ts`, `${report}.txt`] as const;
  }),
);

test.each(ENTRIES)(
  'the public surface of %s changes only together with its report (npm run generate)',
  (_, entry, name) => {
    const file = fileURLToPath(new URL(name, import.meta.url));
    const report = describeExports(built(entry));
    if (process.env.GENERATE) writeFileSync(file, report);
    expect(report).toBe(readFileSync(file, 'utf8'));
  },
);

test('a report shows what a type inherits from types that are not exported', () => {
  const report = describeExports(built(ENTRIES[0]![1]));
  expect(report).toMatch(
    /^\/\/ A base of CompensationContext:\ninterface RunContext[^}]*\}[^}]*heartbeat\(/m,
  );
  expect(report).toMatch(/^\/\/ A base of SagaModule:\n.*const ConfigurableModuleClass/m);
});

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

const checker = program.getTypeChecker();

function built(entry: string): string {
  return fileURLToPath(new URL(`../../libs/saga/dist/${entry}`, import.meta.url));
}

/** Every export with its members and their types, in one text that shows each change in a diff. */
function describeExports(entry: string): string {
  const exports = exportsOf(entry).sort((a, b) => (a.name < b.name ? -1 : 1));
  const described = new Set([...exports, ...exportsOf(built(ENTRIES[0]![1]))]);
  const lines = exports.flatMap((symbol) => [
    declarationsOf(symbol),
    ...basesBehind(symbol, described).map((base) => `// A base of ${symbol.name}:\n${declarationsOf(base)}`),
  ]);
  return `${lines.join('\n\n')}\n`;
}

function exportsOf(entry: string): ts.Symbol[] {
  const source = program.getSourceFile(entry)!;
  return checker.getExportsOfModule(checker.getSymbolAtLocation(source)!).map(unaliased);
}

function declarationsOf(symbol: ts.Symbol): string {
  return (symbol.declarations ?? []).map((one) => namesOf(one) ?? withoutPrivates(one)).join('\n');
}

/** A type of names, whatever it is derived from: a name that is added shows. Undefined: it is another type. */
function namesOf(declaration: ts.Declaration): string | undefined {
  if (!ts.isTypeAliasDeclaration(declaration) || declaration.typeParameters) return undefined;
  const type = checker.getTypeAtLocation(declaration);
  if (!type.isUnion() || !type.types.every((one) => one.isStringLiteral())) return undefined;
  const names = type.types.map((one) => `'${one.value}'`).sort();
  return `export type ${declaration.name.text} = ${names.join(' | ')};`;
}

/**
 * The types of the package that a type inherits members from, and that are not described yet: users see their members, too.
 * @param described those that are; the result is added to it
 */
function basesBehind(symbol: ts.Symbol, described: Set<ts.Symbol>): ts.Symbol[] {
  return (
    (symbol.declarations ?? [])
      .filter((one) => ts.isInterfaceDeclaration(one) || ts.isClassDeclaration(one))
      .flatMap(({ heritageClauses = [] }) => [...heritageClauses])
      .filter(({ token }) => token === ts.SyntaxKind.ExtendsKeyword)
      .flatMap(({ types }) => [...types])
      // `Omit<Base, Left>` inherits from Base, without what Left names.
      .flatMap(({ expression, typeArguments = [] }) => [expression, ...typeArguments.map(nameIn)])
      .flatMap((name) => {
        const base = symbolAt(name);
        if (!base || described.has(base) || !isOwn(base) || base.flags & ts.SymbolFlags.TypeParameter)
          return [];
        described.add(base);
        return [base, ...basesBehind(base, described)];
      })
  );
}

function symbolAt(node: ts.Node): ts.Symbol | undefined {
  const symbol = checker.getSymbolAtLocation(node);
  return symbol && unaliased(symbol);
}

function nameIn(type: ts.TypeNode): ts.Node {
  return ts.isTypeReferenceNode(type) ? type.typeName : type;
}

/** Types of other packages, and of TypeScript's library, are not described. */
function isOwn(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((one) => one.getSourceFile().fileName.startsWith(built('../../')));
}

function unaliased(symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
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
