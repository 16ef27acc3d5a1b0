import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Type } from '@nestjs/common';
import type { DeclaredSagaProblem } from 'nestjs-durable-saga-declared';

/** Whether an operand is the path of a declared saga, and not the name of a saga. */
export function isDeclaredFile(operand: string): boolean {
  return /\.(ya?ml|json)$/i.test(operand);
}

/** The files that these paths name. A folder stands for its YAML files, and those of its folders. */
export async function filesIn(paths: readonly string[]): Promise<string[]> {
  const filesOf = async (path: string) => {
    const found = await stat(path).catch(() => undefined);
    // `.yaml` and `.yml`.
    return found?.isDirectory() ? join(path, '**/*.y*ml') : path;
  };
  return Promise.all(paths.map(filesOf));
}

/** Reads files without the check of their environment: they are drawn or checked, and not run. */
export async function readDeclared(files: readonly string[], checkEnvironment: boolean): Promise<Type[]> {
  const { readSagas } = await import('nestjs-durable-saga-declared');
  return readSagas(await filesIn(files), { checkEnvironment });
}

/** The problems of files, if that is the error. */
export async function problemsOf(error: unknown): Promise<readonly DeclaredSagaProblem[] | undefined> {
  const { DeclaredSagaError } = await import('nestjs-durable-saga-declared');
  return error instanceof DeclaredSagaError ? error.problems : undefined;
}

/** A line for each problem, as editors and CI systems find them: `file:line:column: problem`. */
export async function problemLines(problems: readonly DeclaredSagaProblem[]): Promise<string[]> {
  const { textOfProblem } = await import('nestjs-durable-saga-declared/internal');
  return problems.map(textOfProblem);
}
