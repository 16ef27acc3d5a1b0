/** A problem in a saga's definition. An application does not start with such a saga. */
export interface SagaFinding {
  /** The name of the step. `undefined` for the saga as a whole. */
  readonly step?: string;
  /** The problem, with the value that was given. */
  readonly problem: string;
  /** How to fix the problem, or which values are allowed. */
  readonly fix: string;
  /** The severity: the application does not start. */
  readonly severity: 'error';
}

/**
 * A finding without its step. Both texts begin in lower case and are joined to one sentence. A fix that begins with a
 * capital is a separate sentence.
 */
export type Diagnostic = Pick<SagaFinding, 'problem' | 'fix'>;

/** Records a problem and its fix. */
export type Report = (problem: string, fix: string) => void;

export function textOfDiagnostic({ problem, fix }: Diagnostic): string {
  return `${problem}${/^[A-Z]/.test(fix) ? '.' : ';'} ${fix}`;
}

/** Returns several problems as sentences. */
export function textOfProblems(problems: Iterable<string>): string {
  return [...problems].map((problem) => (/[.?!]$/.test(problem) ? problem : `${problem}.`)).join(' ');
}

export function textOfFinding(finding: SagaFinding): string {
  return (finding.step === undefined ? '' : `step '${finding.step}': `) + textOfDiagnostic(finding);
}
