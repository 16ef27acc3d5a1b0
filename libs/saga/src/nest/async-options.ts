import { OptionReader } from '../definition/options/option-reader.js';
import { textOfDiagnostic, textOfProblems } from '../shared/diagnostic.js';
import { SagaConfigurationError } from '../errors.js';

/** What Nest takes beside a factory of options. */
const ASYNC_OPTIONS = [
  ...['imports', 'inject', 'useFactory', 'useClass', 'useExisting', 'provideInjectionTokensFrom'],
];
const FACTORIES = ['useFactory', 'useClass', 'useExisting'];

/**
 * Checks what the asynchronous form of a module is given: what Nest would pass over, and what it would report as a
 * dependency that cannot be resolved.
 * @param call begins the message: `SagaModule.forRootAsync`
 * @param extras further options that stand beside the factory
 * @throws SagaConfigurationError
 */
export function checkAsyncOptions(call: string, given: object, extras: readonly string[] = []): void {
  const problems: string[] = [];
  const reader = new OptionReader((problem, fix) => problems.push(textOfDiagnostic({ problem, fix })));
  const options = reader.options(given as Record<string, unknown>, [...ASYNC_OPTIONS, ...extras]);
  if (problems.length === 0 && !FACTORIES.some((name) => name in options))
    problems.push('the options have no source; give useFactory, useClass or useExisting');
  if (problems.length > 0) throw new SagaConfigurationError(`${call}: ${textOfProblems(problems)}`);
}
