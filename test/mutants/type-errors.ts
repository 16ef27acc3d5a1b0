import { join } from 'node:path';
import ts from 'typescript';
import type { Library } from './library.js';
import type { Mutant } from './mutant.js';

/**
 * Finds mutants that the compiler rejects: a run of one would prove nothing else. Several files are compiled
 * together, with one mutant of each file at a time.
 */
export function typeErrors(root: string, mutants: readonly Mutant[], library: Library): string[] {
  const config = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile).config as unknown;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const errors: string[] = [];
  const unchanged = new Map<string, ts.SourceFile>();
  let program: ts.Program | undefined;
  for (const round of roundsOf(mutants, library)) {
    const texts = new Map([...round].map(([file, mutant]) => [join(root, file), library.mutated(mutant)]));
    program = programWith(options, [...texts.keys()], texts, unchanged, program);
    for (const [file, { name }] of round) {
      const path = join(root, file);
      const source = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      for (const { messageText } of found)
        errors.push(`'${name}' does not compile: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
    }
  }
  return errors;
}

/** Mutants by file. */
type Round = Map<string, Mutant>;

function roundsOf(mutants: readonly Mutant[], library: Library): Round[] {
  const rounds: Round[] = [];
  const ofFile = new Map<string, number>();
  for (const mutant of mutants) {
    const { file } = library.placeOf(mutant);
    // PostgreSQL alone would find an error in it.
    if (file.endsWith('.sql')) continue;
    const n = ofFile.get(file) ?? 0;
    ofFile.set(file, n + 1);
    (rounds[n] ??= new Map()).set(file, mutant);
  }
  return rounds;
}

function programWith(
  given: ts.CompilerOptions,
  rootNames: readonly string[],
  texts: ReadonlyMap<string, string>,
  unchanged: Map<string, ts.SourceFile>,
  oldProgram: ts.Program | undefined,
): ts.Program {
  // What a mutant leaves out may leave something unused.
  const options = {
    ...given,
    noEmit: true,
    rootDir: undefined,
    declaration: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  const host = ts.createCompilerHost(options);
  const plain = host.getSourceFile.bind(host);
  host.getSourceFile = (path, target) => {
    const text = texts.get(path);
    if (text !== undefined) return ts.createSourceFile(path, text, target, true);
    const source = unchanged.get(path) ?? plain(path, target);
    if (source) unchanged.set(path, source);
    return source;
  };
  return ts.createProgram({ rootNames, options, host, oldProgram });
}
