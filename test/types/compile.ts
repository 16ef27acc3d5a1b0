import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../..');

/** The workspace's own settings, with the package's sources in the place of what was last built of it. */
function compilerOptions(): ts.CompilerOptions {
  const path = join(ROOT, 'tsconfig.json');
  const { config } = ts.readConfigFile(path, (file) => ts.sys.readFile(file)) as { config: object };
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, ROOT);
  return { ...options, paths: { 'nestjs-durable-saga': [join(ROOT, 'libs/saga/src/index.ts')] } };
}

/**
 * What the compiler says of modules beside this file, by name: those that exist, and those given as text. One
 * program for all, since most of its time goes into the libraries.
 */
export function compile(
  files: readonly string[],
  texts: ReadonlyMap<string, string>,
): ReadonlyMap<string, string[]> {
  const given = new Map([...texts].map(([name, text]) => [join(HERE, name), text]));
  const options = compilerOptions();
  const host = ts.createCompilerHost(options);
  const fromDisk = { fileExists: host.fileExists.bind(host), getSourceFile: host.getSourceFile.bind(host) };
  host.fileExists = (path) => given.has(path) || fromDisk.fileExists(path);
  host.getSourceFile = (path, ...rest) => {
    const text = given.get(path);
    return text === undefined
      ? fromDisk.getSourceFile(path, ...rest)
      : ts.createSourceFile(path, text, rest[0]);
  };
  const names = [...files, ...texts.keys()];
  const program = ts.createProgram({ rootNames: names.map((name) => join(HERE, name)), options, host });
  return new Map(names.map((name) => [name, complaintsOf(program, join(HERE, name))]));
}

function complaintsOf(program: ts.Program, path: string): string[] {
  const source = program.getSourceFile(path);
  if (!source) throw new Error(`no such module: ${path}`);
  return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
    (diagnostic) => {
      const { line } = source.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
      return `${line + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`;
    },
  );
}
