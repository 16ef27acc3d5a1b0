/** A deliberate break of the engine, and who is to notice it. */
export interface Mutant {
  /** What is broken, in plain words. */
  readonly name: string;
  /** Under libs/saga/src. */
  readonly file: string;
  /** Occurs in it exactly once. */
  readonly find: string;
  readonly replace: string;
  /** Tried one after the other until one of them fails; the quickest first. */
  readonly killers: readonly Killer[];
}

export type Killer =
  | { readonly kind: 'simulation'; readonly seeds: number }
  /** Parts of paths of specs; `tests`: a part of the names of those of their tests that are run. */
  | { readonly kind: 'specs'; readonly paths: readonly string[]; readonly tests?: string };

export const simulation = (seeds: number): Killer => ({ kind: 'simulation', seeds });

export const specs = (...paths: readonly string[]): Killer => ({
  kind: 'specs',
  paths: paths.map(inLibrary),
});

export const testsOf = (path: string, tests: string): Killer => ({
  kind: 'specs',
  paths: [inLibrary(path)],
  tests,
});

function inLibrary(path: string): string {
  return /^(test|libs)\//.test(path) ? path : `libs/saga/src/${path}`;
}

/** What is wrong with a mutant's place in the text of its file; undefined: nothing. */
export function misplaced({ name, file, find, replace }: Mutant, text: string): string | undefined {
  const count = text.split(find).length - 1;
  if (count !== 1) return `'${name}': what it replaces occurs ${count} times in ${file}, not once`;
  return find === replace ? `'${name}' changes nothing` : undefined;
}

export function mutated({ find, replace }: Mutant, text: string): string {
  return text.replace(find, () => replace);
}
