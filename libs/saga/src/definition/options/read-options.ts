import { SagaValidationError } from '../../errors.js';
import { type Report, textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import { messageOf } from '../../shared/read-object.js';
import { type AnyTable, OptionReader, type OptionsRead } from './option-reader.js';

type ErrorClass = new (message: string, options?: ErrorOptions) => Error;

/**
 * Returns what `read` returns.
 * @param call begins the message: `SagaModule.forRoot`
 * @throws an error of this class, with all problems that `read` reports
 */
export function withoutProblems<T>(call: string, error: ErrorClass, read: (report: Report) => T): T {
  const problems: string[] = [];
  let cause: unknown;
  try {
    const result = read((problem, fix) => problems.push(textOfDiagnostic({ problem, fix })));
    if (problems.length === 0) return result;
  } catch (thrown) {
    cause = thrown;
    problems.push(`${messageOf(thrown)}. Give a plain object`);
  }
  const message = `${call}: ${textOfProblems(problems)}`;
  throw cause === undefined ? new error(message) : new error(message, { cause });
}

/**
 * Returns the options of a call, as their table reads them.
 * @param call begins the message: `start()`
 * @param what the options are called: `filter`
 * @throws SagaValidationError that names all invalid options
 */
export function readOptions<Table extends AnyTable>(
  call: string,
  table: Table,
  given: unknown,
  what = 'options',
): OptionsRead<Table> {
  return withoutProblems(call, SagaValidationError, (report) => reportedOptions(table, given, report, what));
}

/** Returns the options of a call, or of a part of it, which may be left out. */
export function reportedOptions<Table extends AnyTable>(
  table: Table,
  given: unknown,
  report: Report,
  what = 'options',
): OptionsRead<Table> {
  return new OptionReader(report, '', `${what}: `).read(table, given === undefined ? {} : given, what);
}
