import * as kind from '../definition/options/kinds.js';
import { OptionReader, optional } from '../definition/options/option-reader.js';
import { withoutProblems } from '../definition/options/read-options.js';
import { SagaConfigurationError } from '../errors.js';

/** What Nest takes beside a factory of options. */
const ASYNC_OPTIONS = [
  'imports',
  'inject',
  'useFactory',
  'useClass',
  'useExisting',
  'provideInjectionTokensFrom',
];

/**
 * Checks what the asynchronous form of a module is given: what Nest would pass over, and what it would report as a
 * dependency that cannot be resolved.
 * @param call begins the message: `SagaModule.forRootAsync`
 * @param extras further options that stand beside the factory
 * @throws SagaConfigurationError
 */
export function checkAsyncOptions(call: string, given: object, extras: readonly string[] = []): void {
  const table = Object.fromEntries(
    [...ASYNC_OPTIONS, ...extras].map((name) => [name, optional(kind.anything())]),
  );
  withoutProblems(call, SagaConfigurationError, (report) => {
    const { useFactory, useClass, useExisting } = new OptionReader(report).read(table, given);
    if (useFactory === undefined && useClass === undefined && useExisting === undefined)
      report('the options have no source', 'give useFactory, useClass or useExisting');
  });
}
