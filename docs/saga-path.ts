import ts from 'typescript';

/** A function, a class, or a method (`Class.method`), with the file that the page gives for it. */
export interface NamedCode {
  readonly name: string;
  readonly file: string;
}

/** Reads a file of the library. Undefined: there is none. */
export type ReadSource = (file: string) => string | undefined;

/** The steps of a numbered list, each with the code that it names, in its order. */
export function stepsOf(list: string): NamedCode[][] {
  return list
    .split(/^\d+\. /m)
    .slice(1)
    .map((step) =>
      [...step.matchAll(/`([\w.]+)` \(`([\w./-]+\.ts)`\)/g)].map(([, name, file]) => ({
        name: name!,
        file: file!,
      })),
    );
}

/** Finds the code that is not in the file that the page gives for it, as `name (file)`. */
export function missingCode(steps: readonly NamedCode[][], read: ReadSource): string[] {
  return steps.flat().flatMap(({ name, file }) => {
    const text = read(file);
    return text !== undefined && declares(parsed(file, text), name) ? [] : [`${name} (${file})`];
  });
}

/**
 * Finds the code that no file calls that the same step or the step before names ahead of it, as `name (file)`. Code that the
 * list has named already, and the first, needs no call.
 */
export function uncalledCode(steps: readonly NamedCode[][], read: ReadSource): string[] {
  const named = new Set<string>();
  return steps.flatMap((step, n) =>
    step.flatMap((one, at) => {
      const isFirst = named.size === 0;
      if (named.has(one.name)) return [];
      named.add(one.name);
      const callers = [...(steps[n - 1] ?? []), ...step.slice(0, at + 1)].map(({ file }) => file);
      const isCalled = callers.some((file) => uses(parsed(file, read(file) ?? ''), one.name));
      return isFirst || isCalled ? [] : [`${one.name} (${one.file})`];
    }),
  );
}

/** Whether a file has a function, a class or a constant of this name, or a class with this method. */
export function declares(source: ts.SourceFile, name: string): boolean {
  const [first, member] = name.split('.');
  let found = false;
  visit(source, (node) => {
    const isDeclaration =
      ts.isClassDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isVariableDeclaration(node);
    if (!isDeclaration || node.name?.getText(source) !== first) return;
    if (member === undefined) found = true;
    else if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node))
      found ||= node.members.some((one) => one.name?.getText(source) === member);
  });
  return found;
}

/** Whether a file calls a method of this name, creates an object of this class, or uses this function. */
function uses(source: ts.SourceFile, name: string): boolean {
  const word = name.split('.').at(-1)!;
  const isMethod = name.includes('.');
  let found = false;
  visit(source, (node) => {
    if (isMethod) found ||= ts.isPropertyAccessExpression(node) && node.name.text === word;
    else if (ts.isIdentifier(node) && node.text === word) found ||= !isNameOf(node);
  });
  return found;
}

/** The identifier introduces the name here, by an import or a declaration, or names a type. */
function isNameOf(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isImportSpecifier(parent) || ts.isTypeReferenceNode(parent)) return true;
  return 'name' in parent && parent.name === node;
}

export function parsed(file: string, text: string): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}
