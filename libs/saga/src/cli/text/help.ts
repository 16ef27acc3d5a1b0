import { type Command, type OptionSpec, option } from '../command.js';
import { columns } from './columns.js';

const HELP: OptionSpec = option.flag('show this help');

/** All commands, a line each. */
export function overview(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${signatureOf(command)}`, command.summary]);
  return [
    'Usage: saga <command> …',
    '',
    ...columns(rows),
    '',
    'saga <command> --help shows the help of a command. A <target> is the id of a saga, or <saga>/<correlation id>.',
    'The database is --url, else the variable DATABASE_URL, else the default that saga init wrote here. The schema of the sagas is --schema (default: saga).',
    'Exit code: 0 if the command succeeded; 1 if the saga does not exist, its state does not allow the call, or it failed; 2 if',
    'the command is invalid or the result is unknown.',
  ].join('\n');
}

/** What a command takes, and does. */
export function helpOf(command: Command): string {
  const options = Object.entries({ ...command.options, help: HELP }).map(([name, spec]) => [
    `  ${optionText(name, spec)}`,
    spec.about + (spec.multiple ? '; can be repeated' : ''),
  ]);
  const { details, examples = [] } = command;
  return [
    usageOf(command),
    '',
    `${command.summary}.${details === undefined ? '' : ` ${details}`}`,
    '',
    ...columns(options),
    ...(examples.length > 0 ? ['', 'Examples:', ...examples.map((example) => `  ${example}`)] : []),
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
