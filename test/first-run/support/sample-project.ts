import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** How a program is made JavaScript: as tsc does it, or as esbuild (and tsx) does, with and without a setting that Nest needs. */
export type Compiler = 'tsc' | 'esbuild' | 'esbuild without experimentalDecorators';

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  /** What it wrote to either. */
  readonly said: string;
}

/** A project outside of the repository, which has installed the built package and its peers. */
export class SampleProject {
  private constructor(readonly folder: string) {}

  /** To be called in a `describe`, or at the top of a file. */
  static make(): () => SampleProject {
    let project: SampleProject;
    beforeAll(async () => {
      const folder = await mkdtemp(join(tmpdir(), 'saga-newcomer-'));
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'junction');
      await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }));
      project = new SampleProject(folder);
    });
    afterAll(() => rm(project.folder, { recursive: true, force: true }));
    return () => project;
  }

  /** @param source TypeScript */
  async run(
    source: string,
    { compiler = 'tsc', env = {} }: { compiler?: Compiler; env?: Record<string, string | undefined> } = {},
  ): Promise<Ended> {
    const file = join(this.folder, 'main.js');
    await writeFile(file, await compiled(source, compiler));
    return new Promise((resolve) => {
      const { NODE_ENV: _, ...inherited } = process.env;
      const child = execFile(
        process.execPath,
        [file],
        { cwd: this.folder, env: { ...inherited, NODE_OPTIONS: '', NO_COLOR: '1', ...env }, timeout: 60_000 },
        (_error, out, error) =>
          resolve({ code: child.exitCode, signal: child.signalCode, said: `${out}${error}` }),
      );
    });
  }
}

async function compiled(source: string, compiler: Compiler): Promise<string> {
  if (compiler === 'tsc') {
    return ts.transpileModule(source, {
      compilerOptions: {
        target: ts.ScriptTarget.ES2023,
        module: ts.ModuleKind.ESNext,
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
      },
    }).outputText;
  }
  const experimentalDecorators = compiler === 'esbuild';
  const { code } = await transform(source, {
    loader: 'ts',
    target: 'es2022',
    tsconfigRaw: { compilerOptions: { experimentalDecorators, emitDecoratorMetadata: true } },
  });
  return code;
}
