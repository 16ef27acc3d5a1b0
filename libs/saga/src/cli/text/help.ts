import { type Command, type OptionSpec, option } from '../command.js';
import { columns } from './columns.js';

const HELP: OptionSpec = option.flag('this help');

/** All commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${signatureOf(command)}`, command.summary]);
  return [
    'Usage: saga <command> …',
    '',
    ...columns(rows),
    '',
    'saga <command> --help tells more of one. A <target> is the id of a saga, or <saga>/<correlation id>.',
    'The database is --url, or the variable DATABASE_URL, or the default that saga init wrote here; the schema of its sagas is --schema (default: saga).',
    `Ends with 0 when it is done; 1 when the saga's state refuses it, there is none, or it came to no good end; 2 when`,
    'the command was not understood, or nobody can tell.',
  ].join('\n');
}

/** What a command takes, and does. */
export function helpOf(command: Command): string {
  const options = Object.entries({ ...command.options, help: HELP }).map(([name, spec]) => [
    `  ${optionText(name, spec)}`,
    spec.about + (spec.multiple ? '; may be given several times' : ''),
  ]);
  const { details, examples = [] } = command;
  return [
    usageOf(command),
    '',
    `${command.summary}.${details === undefined ? '' : ` ${details}`}`,
    '',
    ...columns(options),
    ...(examples.length > 0 ? ['', 'For example:', ...examples.map((example) => `  ${example}`)] : []),
  ].join('\n');
}

/** In one line. */
export function usageOf(command: Command): string {
  return `Usage: saga ${signatureOf(command)} [options]`;
}

function signatureOf({ words, operands }: Command): string {
  return [words, ...operands].join(' ');
}

function optionText(name: string, { value }: OptionSpec): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}`;
}
