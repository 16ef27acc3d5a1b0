import { SagaDefinitionError } from 'nestjs-durable-saga';
import { type Diagnostic, textOfDiagnostic } from 'nestjs-durable-saga/internal';

/** A position in a file, both from 1. */
export interface Place {
  /** The line, from 1. */
  readonly line: number;
  /** The column, from 1. */
  readonly column: number;
}

/** A problem in the file of a declared saga. */
export interface DeclaredSagaProblem extends Diagnostic, Place {
  /** The path of the file. */
  readonly file: string;
}

/** Files of declared sagas are invalid. The message has a line for each problem: `file:line:column: problem; fix`. */
export class DeclaredSagaError extends SagaDefinitionError {
  constructor(
    /** All problems of all files, in the order of the files. */
    readonly problems: readonly DeclaredSagaProblem[],
  ) {
    super(problems.map(textOfProblem).join('\n'));
  }
}

export function textOfProblem({ file, line, column, ...diagnostic }: DeclaredSagaProblem): string {
  return `${file}:${line}:${column}: ${textOfDiagnostic(diagnostic)}`;
}
