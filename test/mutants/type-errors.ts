import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { type Mutant, mutated } from './mutant.js';

/**
 * Mutants that the compiler would refuse: whoever runs one notices nothing but that. Several are looked at together,
 * of each file one at a time.
 */
export function typeErrors(root: string, mutants: readonly Mutant[]): string[] {
  const library = join(root, 'libs/saga');
  const config = ts.readConfigFile(join(library, 'tsconfig.json'), ts.sys.readFile).config as unknown;
  const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, library);
  const errors: string[] = [];
  const unchanged = new Map<string, ts.SourceFile>();
  let program: ts.Program | undefined;
  for (const round of roundsOf(mutants)) {
    const texts = new Map(round.map((mutant) => [join(library, 'src', mutant.file), mutant]));
    program = programWith(options, fileNames, texts, unchanged, program);
    for (const [path, { name }] of texts) {
      const source = program.getSourceFile(path);
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      for (const { messageText } of found)
        errors.push(`'${name}' does not compile: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
    }
  }
  return errors;
}

function roundsOf(mutants: readonly Mutant[]): Mutant[][] {
  const rounds: Mutant[][] = [];
  const ofFile = new Map<string, number>();
  for (const mutant of mutants) {
    const n = ofFile.get(mutant.file) ?? 0;
    ofFile.set(mutant.file, n + 1);
    (rounds[n] ??= []).push(mutant);
  }
  return rounds;
}

function programWith(
  given: ts.CompilerOptions,
  rootNames: readonly string[],
  mutants: ReadonlyMap<string, Mutant>,
  unchanged: Map<string, ts.SourceFile>,
  oldProgram: ts.Program | undefined,
): ts.Program {
  // What a mutant leaves out may leave something unused.
  const options = {
    ...given,
    noEmit: true,
    declaration: false,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  const host = ts.createCompilerHost(options);
  const plain = host.getSourceFile.bind(host);
  host.getSourceFile = (path, target) => {
    const mutant = mutants.get(path);
    if (mutant) return ts.createSourceFile(path, mutated(mutant, readFileSync(path, 'utf8')), target, true);
    const source = unchanged.get(path) ?? plain(path, target);
    if (source) unchanged.set(path, source);
    return source;
  };
  return ts.createProgram({ rootNames, options, host, oldProgram });
}
