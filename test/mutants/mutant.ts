/** A deliberate break of the library, and the tests that have to notice it. */
export interface Mutant {
  /** What is broken, in plain words. */
  readonly name: string;
  /**
   * The code that is replaced, wherever in the packages or test/models it is. White space and trailing commas do not count, so that it
   * survives a new file name and another formatting.
   */
  readonly find: string;
  readonly replace: string;
  /**
   * The declaration ('Worker.claim', 'decide') or the SQL function ('lock_enqueue') that contains the code. Required only if
   * the same code occurs in several.
   */
  readonly in?: string;
  /** Tried one after the other until one of them fails. The quickest comes first. */
  readonly killers: readonly Killer[];
}

export type Killer =
  | { readonly kind: 'simulation'; readonly seeds: number }
  /**
   * Names of specs, as spec-files.ts resolves them. `tests`: a pattern of the names of those of their tests that are run.
   */
  | { readonly kind: 'specs'; readonly names: readonly string[]; readonly tests?: string };

export const simulation = (seeds: number): Killer => ({ kind: 'simulation', seeds });

export const specs = (...names: readonly string[]): Killer => ({ kind: 'specs', names });

export const testsOf = (name: string, tests: string): Killer => ({ kind: 'specs', names: [name], tests });
