import { type AnyTable, OptionReader, type OptionsRead } from '../definition/options/option-reader.js';
import { withoutProblems } from '../definition/options/read-options.js';
import { SagaConfigurationError } from '../errors.js';
import { isOptions } from '../shared/read-object.js';
import { shown } from '../shared/shown-value.js';

/**
 * Reads the options of a module: what its method was given, or what the factory of its asynchronous form returned.
 * @param resolve makes the options that the module uses, and may report further problems
 * @throws SagaConfigurationError that names all invalid options, their values and how to fix them
 */
export function readModuleOptions<Table extends AnyTable, Resolved>(
  module: string,
  table: Table,
  given: unknown,
  resolve: (options: OptionsRead<Table>, reader: OptionReader) => Resolved,
): Resolved {
  return withoutProblems(module, SagaConfigurationError, (report) => {
    const reader = new OptionReader(report);
    if (isOptions(given)) return resolve(reader.read(table, given), reader);
    const fix = given === undefined ? 'give an object, or return one from the factory' : 'give an object';
    report(`options are ${shown(given)}`, fix);
    // What was reported is thrown.
    return undefined as Resolved;
  });
}
