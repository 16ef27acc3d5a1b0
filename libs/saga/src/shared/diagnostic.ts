/** Something wrong with a saga's definition. An application does not start with such a saga. */
export interface SagaFinding {
  /** The step that it is about, by name; `undefined`: the saga as a whole. */
  readonly step?: string;
  /** What is wrong, with what was given. */
  readonly problem: string;
  /** What to do about it, or what is allowed. */
  readonly mend: string;
  /** Such an application does not start. */
  readonly severity: 'error';
}

/**
 * A finding before it is known whose it is. Both texts begin in lower case, since they go on a sentence; a mend in upper
 * case is a sentence of its own.
 */
export type Flaw = Pick<SagaFinding, 'problem' | 'mend'>;

/** Notes what is wrong. */
export type Report = (problem: string, mend: string) => void;

export function textOfFlaw({ problem, mend }: Flaw): string {
  return `${problem}${/^[A-Z]/.test(mend) ? '.' : ';'} ${mend}`;
}

/** Several of them as sentences. */
export function textOfProblems(problems: Iterable<string>): string {
  return [...problems].map((problem) => (/[.?!]$/.test(problem) ? problem : `${problem}.`)).join(' ');
}

export function textOfFinding(finding: SagaFinding): string {
  return (finding.step === undefined ? '' : `step '${finding.step}': `) + textOfFlaw(finding);
}
