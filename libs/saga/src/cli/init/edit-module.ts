import type TypeScript from 'typescript';
import {
  type Import,
  importInsertion,
  indentAt,
  type Insertion,
  type Ts,
  withInsertions,
} from './source-edit.js';

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
  return withInsertions(source, [insertion, ...importInsertion(ts, file, needs)]);
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
): Insertion | undefined {
  const [list, ...others] = metadata.properties.filter(
    ({ name }) => name !== undefined && ts.isIdentifier(name) && name.text === 'imports',
  );
  if (others.length > 0) return undefined;
  if (!list) return newList(file, metadata, expressions);
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

/** Behind what is there: on lines of their own if that is, and in an empty list. */
function intoList(
  { text }: TypeScript.SourceFile,
  list: TypeScript.ArrayLiteralExpression,
  expressions: readonly string[],
): Insertion {
  const { elements } = list;
  const last = elements.at(-1);
  if (!last) {
    const outer = indentAt(text, list.getStart());
    const lines = expressions.map((one) => `${outer}  ${indented(one, `${outer}  `)},\n`).join('');
    return { at: list.getStart() + 1, text: `\n${lines}${outer}` };
  }
  const ownLines = text.slice(list.getStart(), last.getStart()).includes('\n');
  const indent = indentAt(text, last.getStart());
  const between = ownLines ? `\n${indent}` : ' ';
  const added = expressions.map((one) => `${between}${indented(one, indent)}`).join(',');
  return elements.hasTrailingComma
    ? { at: elements.end, text: `${added},` }
    : { at: last.end, text: `,${added}` };
}

/** Indents all lines but the first. */
function indented(expression: string, indent: string): string {
  return expression.replaceAll('\n', `\n${indent}`);
}
