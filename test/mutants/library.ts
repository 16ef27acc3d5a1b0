import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { PACKAGES } from '../../rooms.mjs';
import type { Mutant } from './mutant.js';

/** The packages, and the models of them that the simulation runs on. */
const FOLDERS = [...Object.keys(PACKAGES).map((name) => `libs/${name}/src`), 'test/models'];

/** Where the code is that a mutant replaces. */
export interface Place {
  /** From the root of the repository. */
  readonly file: string;
  /** In the text of the file. */
  readonly from: number;
  readonly to: number;
  /** The innermost class member, function or constant that contains it. */
  readonly declaration: string;
  /** The name in the `.sql` file of the statement, or of the part of one, that contains it. */
  readonly sqlFunction: string | undefined;
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly code: Squeezed;
  /** Parsed once it is needed. */
  tree?: ts.SourceFile;
}

/** Code without what formatting adds. */
interface Squeezed {
  readonly text: string;
  /** The offset of each character in the original. */
  readonly offsets: readonly number[];
}

/** The library's source files, in which the code is found that mutants replace. */
export class Library {
  private constructor(private readonly sources: readonly Source[]) {}

  /** @param root the root of the repository */
  static in(root: string): Library {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /(?<!\.spec|\.d|\.generated)\.ts$|\.sql$/.test(name))
        .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
    );
    return Library.of(new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')])));
  }

  /** @param texts source files by path */
  static of(texts: ReadonlyMap<string, string>): Library {
    return new Library([...texts].map(([file, text]) => ({ file, text, code: squeezed(text) })));
  }

  /** Every place with the code that a mutant replaces. Only one is right. */
  placesOf({ find, in: container }: Pick<Mutant, 'find' | 'in'>): Place[] {
    const wanted = squeezed(find).text;
    const places = this.sources.flatMap((source) => occurrences(source, wanted));
    return container === undefined ? places : places.filter((place) => isIn(place, container));
  }

  /** @throws Error when the code is not in one place */
  placeOf(mutant: Mutant): Place {
    const problem = this.problemOf(mutant);
    if (problem !== undefined) throw new Error(problem);
    return this.placesOf(mutant)[0]!;
  }

  /** Why a mutant cannot be applied; undefined: it can. */
  problemOf(mutant: Mutant): string | undefined {
    const { name, find, replace, in: container } = mutant;
    if (squeezed(find).text === squeezed(replace).text)
      return `Mutant '${name}' changes nothing. Give it another 'replace'.`;
    const places = this.placesOf(mutant);
    if (places.length === 1) return undefined;
    const where = container === undefined ? 'the packages or test/models' : `'${container}'`;
    if (places.length === 0)
      return (
        `Mutant '${name}': the code that it replaces is not in ${where}. ` +
        `Change its 'find' to the code as it is now, or remove the mutant: ${find}`
      );
    const names = places.map(
      ({ declaration, sqlFunction, file }) => `${sqlFunction ?? declaration} (${file})`,
    );
    return (
      `Mutant '${name}': the code that it replaces occurs ${places.length} times, in ${names.join(', ')}. ` +
      `Name the right one with 'in', or make 'find' longer: ${find}`
    );
  }

  /** The text of the file with the mutant in it. */
  mutated(mutant: Mutant): string {
    const { file, from, to } = this.placeOf(mutant);
    const { text } = this.sources.find((source) => source.file === file)!;
    return text.slice(0, from) + mutant.replace + text.slice(to);
  }
}

function occurrences(source: Source, wanted: string): Place[] {
  const { file, code } = source;
  const places: Place[] = [];
  for (let at = code.text.indexOf(wanted); at >= 0; at = code.text.indexOf(wanted, at + 1)) {
    const from = code.offsets[at]!;
    const to = code.offsets[at + wanted.length - 1]! + 1;
    places.push({ file, from, to, ...containersOf(source, from) });
  }
  return places;
}

function isIn({ declaration, sqlFunction }: Place, container: string): boolean {
  return container === sqlFunction || declaration === container || declaration.startsWith(`${container}.`);
}

/** Without white space, and without commas before a closing bracket. */
function squeezed(text: string): Squeezed {
  const offsets: number[] = [];
  const kept: string[] = [];
  for (const { 0: part, index } of text.matchAll(/[^\s,]+|,/g)) {
    if (part === ',' && /^,\s*[)\]}]/.test(text.slice(index, index + 200))) continue;
    kept.push(part);
    for (let n = 0; n < part.length; n += 1) offsets.push(index + n);
  }
  return { text: kept.join(''), offsets };
}

function containersOf(source: Source, at: number): Pick<Place, 'declaration' | 'sqlFunction'> {
  const { file, text } = source;
  if (file.endsWith('.sql')) {
    // The first line of a statement, or of a part of one: see scripts/sql.mjs.
    const name = [...text.slice(0, at).matchAll(/^-- (?:name|fragment): (\w+)/gm)].at(-1)?.[1];
    return { declaration: name ?? file, sqlFunction: name };
  }
  source.tree ??= ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  return { declaration: declarationAt(source.tree, at), sqlFunction: undefined };
}

function declarationAt(tree: ts.SourceFile, at: number): string {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (at < node.getStart(tree) || at >= node.end) return;
    const name = names.length < 2 ? nameOf(node) : undefined;
    if (name !== undefined) names.push(name);
    ts.forEachChild(node, visit);
  };
  ts.forEachChild(tree, visit);
  return names.join('.');
}

/** The name of a class, its member, a function, or a constant of the file. */
function nameOf(node: ts.Node): string | undefined {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const isMember = ts.isClassElement(node) || ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node);
  const isConstant = ts.isVariableDeclaration(node) && ts.isSourceFile(node.parent.parent.parent);
  return isMember || isConstant ? node.name?.getText() : undefined;
}
