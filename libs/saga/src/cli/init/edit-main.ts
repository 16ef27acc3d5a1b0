import type TypeScript from 'typescript';
import { indentAt, type Ts, withInsertions } from './source-edit.js';

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
  return withInsertions(source, [{ at: statement.end, text: `\n${line}` }]);
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
