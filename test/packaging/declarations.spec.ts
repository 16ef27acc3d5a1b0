import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FILE = `${ROOT}app.ts`;
const SERVICES = ['SagaService', 'SagaOperations', 'SagaSchedules', 'SagaShards'];
const BASE: ts.CompilerOptions = {
  ...{ strict: true, declaration: true, emitDeclarationOnly: true, skipLibCheck: true },
  ...{ target: ts.ScriptTarget.ES2022, preserveSymlinks: true, types: ['node'] },
};
const RESOLUTIONS: Record<string, ts.CompilerOptions> = {
  nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
};

/** An application of one file, and the declaration file that the compiler makes of it. */
function compiled(text: string, resolution: ts.CompilerOptions) {
  const options = { ...BASE, ...resolution };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (file, version) =>
    file === FILE ? ts.createSourceFile(file, text, version, true) : getSourceFile(file, version);
  host.fileExists = (file) => file === FILE || fileExists(file);
  host.readFile = (file) => (file === FILE ? text : readFile(file));
  const program = ts.createProgram([FILE], options, host);
  let declarations = '';
  const { diagnostics } = program.emit(
    program.getSourceFile(FILE),
    (_, written) => void (declarations = written),
  );
  const all = [...program.getSemanticDiagnostics(program.getSourceFile(FILE)), ...diagnostics];
  const problems = all.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
  return { program, declarations, problems };
}

describe.each(Object.entries(RESOLUTIONS))('an application with declarations, by %s', (_, resolution) => {
  test('can return whatever a service returns, without writing its type', () => {
    const { program } = compiled(`export * from 'nestjs-durable-saga';`, resolution);
    const checker = program.getTypeChecker();
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(FILE)!)!);
    const methods = SERVICES.flatMap((service) => {
      const symbol = exported.find(({ name }) => name === service)!;
      return checker
        .getPropertiesOfType(checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(symbol)))
        .filter(
          ({ valueDeclaration: it }) =>
            it && ts.isMethodDeclaration(it) && ts.getCombinedModifierFlags(it) === ts.ModifierFlags.None,
        )
        .map(({ name }) => ({ service, name }));
    });
    expect(methods.length).toBeGreaterThan(30);
    const calls = methods.map(
      ({ service, name }, n) =>
        `export const call${n} = (it: ${service}, ...given: Parameters<${service}['${name}']>) => it.${name}(...(given as never as Parameters<typeof it.${name}>));`,
    );
    const text = `import type { ${SERVICES.join(', ')} } from 'nestjs-durable-saga';\n${calls.join('\n')}\n`;
    const { problems, declarations } = compiled(text, resolution);
    expect(problems).toEqual([]);
    expect(declarations).toContain('import("nestjs-durable-saga/operators").HistoryEntry');
    expect(declarations).not.toContain('/dist/');
  });
});
