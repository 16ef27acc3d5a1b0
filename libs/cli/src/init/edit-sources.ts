import { createRequire } from 'node:module';
import { join } from 'node:path';
import type TypeScript from 'typescript';

export type Ts = typeof TypeScript;

/** The compiler of the application itself; undefined: it has none whose parser can be used. */
export function typeScriptOf(root: string): Ts | undefined {
  try {
    const ts = createRequire(join(root, 'package.json'))('typescript') as Partial<Ts>;
    return typeof ts.createSourceFile === 'function' && typeof ts.getDecorators === 'function'
      ? (ts as Ts)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Text that goes in at a place of a source. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
}

/** The source with all of them in, and with its own line ends. */
function withInsertions(source: string, insertions: readonly Insertion[]): string {
  const newline = source.includes('\r\n') ? '\r\n' : '\n';
  return insertions
    .map(({ at, text }) => ({ at, text: text.replaceAll('\n', newline) }))
    .sort((a, b) => b.at - a.at)
    .reduce((text, { at, text: inserted }) => text.slice(0, at) + inserted + text.slice(at), source);
}

/** A name, and the module that it is imported from. */
export interface Import {
  readonly name: string;
  readonly from: string;
  /** The import is used as a type only. */
  readonly isType?: true;
}

/** The lines that import these, with a line for each module. */
export function importLines(wanted: readonly Import[], quote = `'`, end = ';'): string[] {
  const modules = [...new Set(wanted.map(({ from }) => from))];
  return modules.map((from) => {
    const names = wanted
      .filter((one) => one.from === from)
      .map(({ name, isType }) => (isType ? `type ${name}` : name));
    return `import { ${[...new Set(names)].join(', ')} } from ${quote}${from}${quote}${end}`;
  });
}

/** Behind the last import, in the file's own manner. */
export function importInsertion(ts: Ts, file: TypeScript.SourceFile, wanted: readonly Import[]): Insertion[] {
  const imports = file.statements.filter((one) => ts.isImportDeclaration(one));
  const named = new Set(
    imports.flatMap(({ importClause }) => {
      const bindings = importClause?.namedBindings;
      return bindings && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name.text) : [];
    }),
  );
  const last = imports.at(-1);
  const like = last?.getText(file) ?? `from '';`;
  const quote = like.includes('"') ? '"' : `'`;
  const end = like.endsWith(';') ? ';' : '';
  const lines = importLines(
    wanted.filter(({ name }) => !named.has(name)),
    ...[quote, end],
  );
  if (lines.length === 0) return [];
  return last
    ? [{ at: lineEnd(file.text, last.end), text: lines.map((line) => `\n${line}`).join('') }]
    : [{ at: 0, text: `${lines.join('\n')}\n\n` }];
}

/** The end of a line, behind a comment that may be there. */
function lineEnd(source: string, place: number): number {
  return place + /^[^\r\n]*/.exec(source.slice(place))![0].length;
}

/** The white space that a line of the source begins with. */
function indentAt(source: string, place: number): string {
  const start = source.lastIndexOf('\n', place - 1) + 1;
  return /^[ \t]*/.exec(source.slice(start))![0];
}

/** What a `main.ts` tells: the root module, and the file that it comes from. */
export interface EntryFile {
  readonly rootModule?: { readonly name: string; readonly from: string };
}

/** What the file gives to `NestFactory.create()`. */
export function readEntryFile(ts: Ts, source: string): EntryFile {
  const file = ts.createSourceFile('main.ts', source, ts.ScriptTarget.Latest, true);
  const [given] = creation(ts, file)?.call.arguments ?? [];
  if (!given || !ts.isIdentifier(given)) return {};
  const imported = file.statements
    .filter((one) => ts.isImportDeclaration(one))
    .find(({ importClause }) => {
      const bindings = importClause?.namedBindings;
      return (
        bindings &&
        ts.isNamedImports(bindings) &&
        bindings.elements.some(({ name }) => name.text === given.text)
      );
    });
  if (!imported || !ts.isStringLiteral(imported.moduleSpecifier)) return {};
  return { rootModule: { name: given.text, from: imported.moduleSpecifier.text } };
}

/**
 * The source with `app.enableShutdownHooks()` behind the creation of the application.
 * @returns undefined when it is there, or when the application is made in another way
 */
export function withShutdownHooks(ts: Ts, source: string): string | undefined {
  if (source.includes('enableShutdownHooks')) return undefined;
  const file = ts.createSourceFile('main.ts', source, ts.ScriptTarget.Latest, true);
  const made = creation(ts, file);
  if (!made) return undefined;
  const { statement, variable } = made;
  const end = statement.getText(file).endsWith(';') ? ';' : '';
  const line = `${indentAt(source, statement.getStart(file))}${variable}.enableShutdownHooks()${end}`;
  return withInsertions(source, [{ at: lineEnd(source, statement.end), text: `\n${line}` }]);
}

interface Creation {
  readonly call: TypeScript.CallExpression;
  readonly statement: TypeScript.VariableStatement;
  readonly variable: string;
}

/** `const app = await NestFactory.create(…)`, wherever it stands. */
function creation(ts: Ts, file: TypeScript.SourceFile): Creation | undefined {
  let found: Creation | undefined;
  const look = (node: TypeScript.Node): void => {
    if (found) return;
    if (ts.isVariableStatement(node)) found = creationIn(ts, node);
    ts.forEachChild(node, look);
  };
  look(file);
  return found;
}

function creationIn(ts: Ts, statement: TypeScript.VariableStatement): Creation | undefined {
  const [declaration, ...others] = statement.declarationList.declarations;
  if (!declaration?.initializer || others.length > 0 || !ts.isIdentifier(declaration.name)) return undefined;
  const { initializer } = declaration;
  const call = ts.isAwaitExpression(initializer) ? initializer.expression : initializer;
  if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return undefined;
  const { expression: factory, name } = call.expression;
  if (!ts.isIdentifier(factory) || factory.text !== 'NestFactory' || name.text !== 'create') return undefined;
  return { call, statement, variable: declaration.name.text };
}

/** What the root module is to import: what stands in `imports`, and the imports of the file that it needs. */
export interface ModuleImport {
  readonly expression: string;
  readonly needs: readonly Import[];
}

/**
 * The source of a root module that imports these as well.
 * @returns undefined when its shape is not the usual one: a class with `@Module({ … })`, whose `imports` is a list
 */
export function withModuleImports(
  ts: Ts,
  source: string,
  wanted: readonly ModuleImport[],
): string | undefined {
  const file = ts.createSourceFile('app.module.ts', source, ts.ScriptTarget.Latest, true);
  const metadata = metadataOf(ts, file);
  if (!metadata || metadata.length !== 1) return undefined;
  const insertion = listInsertion(
    ts,
    file,
    metadata[0]!,
    wanted.map(({ expression }) => expression),
  );
  if (!insertion) return undefined;
  const needs = wanted.flatMap((one) => one.needs);
  return withInsertions(source, [...insertion, ...importInsertion(ts, file, needs)]);
}

/** What the classes of a file give to `@Module()`. */
function metadataOf(ts: Ts, file: TypeScript.SourceFile): TypeScript.ObjectLiteralExpression[] | undefined {
  const calls = file.statements
    .filter((one) => ts.isClassDeclaration(one))
    .flatMap((one) => ts.getDecorators(one) ?? [])
    .map(({ expression }) => expression)
    .filter((one) => ts.isCallExpression(one))
    .filter(({ expression }) => ts.isIdentifier(expression) && expression.text === 'Module');
  const given = calls.map((call) => call.arguments[0]);
  return given.every((one) => one !== undefined && ts.isObjectLiteralExpression(one)) ? given : undefined;
}

function listInsertion(
  ts: Ts,
  file: TypeScript.SourceFile,
  metadata: TypeScript.ObjectLiteralExpression,
  expressions: readonly string[],
): Insertion[] | undefined {
  const [list, ...others] = metadata.properties.filter(
    ({ name }) => name !== undefined && ts.isIdentifier(name) && name.text === 'imports',
  );
  if (others.length > 0) return undefined;
  if (!list) return [newList(file, metadata, expressions)];
  if (!ts.isPropertyAssignment(list) || !ts.isArrayLiteralExpression(list.initializer)) return undefined;
  return intoList(file, list.initializer, expressions);
}

/** As the first property. */
function newList(
  file: TypeScript.SourceFile,
  metadata: TypeScript.ObjectLiteralExpression,
  expressions: readonly string[],
): Insertion {
  const outer = indentAt(file.text, metadata.getStart(file));
  const lines = expressions.map((one) => `${outer}    ${indented(one, `${outer}    `)},\n`).join('');
  const after = metadata.properties.length === 0 ? `\n${outer}` : '';
  return { at: metadata.getStart(file) + 1, text: `\n${outer}  imports: [\n${lines}${outer}  ],${after}` };
}

/** Behind what is there and its comments: on lines of their own if that is, and in an empty list. */
function intoList(
  { text }: TypeScript.SourceFile,
  list: TypeScript.ArrayLiteralExpression,
  expressions: readonly string[],
): Insertion[] {
  const { elements } = list;
  const last = elements.at(-1);
  if (!last) {
    const outer = indentAt(text, list.getStart());
    const lines = expressions.map((one) => `${outer}  ${indented(one, `${outer}  `)},\n`).join('');
    return [{ at: list.getStart() + 1, text: `\n${lines}${outer}` }];
  }
  const at = text.slice(0, list.end - 1).trimEnd().length;
  const ownLines = /\n|\/\//.test(text.slice(list.getStart(), last.getStart()) + text.slice(last.end, at));
  const indent = indentAt(text, last.getStart());
  const between = ownLines ? `\n${indent}` : ' ';
  const added = expressions.map((one) => `${between}${indented(one, indent)}`).join(',');
  return elements.hasTrailingComma
    ? [{ at, text: `${added},` }]
    : [
        { at, text: added },
        { at: last.end, text: ',' },
      ];
}

/** Indents all lines but the first. */
function indented(expression: string, indent: string): string {
  return expression.replaceAll('\n', `\n${indent}`);
}
