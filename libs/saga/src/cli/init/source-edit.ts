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

/** The source with all of them in. */
export function withInsertions(source: string, insertions: readonly Insertion[]): string {
  return [...insertions]
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
    ? [{ at: last.end, text: lines.map((line) => `\n${line}`).join('') }]
    : [{ at: 0, text: `${lines.join('\n')}\n\n` }];
}

/** The white space that a line of the source begins with. */
export function indentAt(source: string, place: number): string {
  const start = source.lastIndexOf('\n', place - 1) + 1;
  return /^[ \t]*/.exec(source.slice(start))![0];
}
