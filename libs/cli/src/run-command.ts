import { ERROR_ANSWERS, nearestName } from 'nestjs-durable-saga/internal';
import {
  type Command,
  EXIT,
  option,
  type OptionSpec,
  readCommandLine,
  Refusal,
  UsageError,
} from './command.js';
import { COMMANDS } from './commands.js';
import type { Terminal } from './terminal.js';
import { columns } from './text/columns.js';

/** @returns the exit code of the command that the words name */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await dispatch(words, terminal);
  } catch (error) {
    terminal.error(lineOf(error));
    if (error instanceof UsageError) {
      terminal.error(error.command ? usageOf(error.command) : 'saga --help lists the commands');
    }
    return isRefusal(error) ? EXIT.refused : EXIT.failed;
  }
}

async function dispatch(words: readonly string[], terminal: Terminal): Promise<number> {
  const asksForHelp = words.some((word) => word === '--help' || word === '-h');
  const command = COMMANDS.find((one) => startsWith(words, one.words.split(' ')));
  if (command && asksForHelp) terminal.out(helpOf(command));
  else if (words.length === 0 || words[0]?.startsWith('-') || words[0] === 'help')
    terminal.out(overview(COMMANDS));
  else if (!command) throw unknownCommand(words);
  else {
    const args = words.slice(command.words.split(' ').length);
    return runOne(command, args, terminal);
  }
  return words.length === 0 ? EXIT.failed : EXIT.done;
}

async function runOne(command: Command, args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const line = readCommandLine(command, args);
    const ended = await command.run({ ...line, terminal });
    if (typeof ended === 'number') return ended;
    const { json, text, notes = [], exit = EXIT.done } = ended;
    const shown = 'json' in line.values ? [json] : text;
    if (shown.length > 0) terminal.out(shown.join('\n'));
    if (!('json' in line.values)) notes.forEach((note) => terminal.error(note));
    return exit;
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(error.message, command) : error;
  }
}

function startsWith(words: readonly string[], start: readonly string[]): boolean {
  return start.every((word, place) => words[place] === word);
}

function unknownCommand(words: readonly string[]): UsageError {
  const names = COMMANDS.map((command: Command) => command.words);
  const isGroup = names.some((name) => name.startsWith(`${words[0]} `));
  const written = words.slice(0, isGroup ? 2 : 1).join(' ');
  const meant = nearestName(written, names) ?? names.find((name) => lettersOf(name) === lettersOf(written));
  return new UsageError(
    `There is no command '${written}'${meant === undefined ? '' : `; did you mean '${meant}'?`}`,
  );
}

/** Two letters that changed places are a slip, even in a word of four. */
function lettersOf(word: string): string {
  return [...word].sort().join('');
}

/** Whether an error reports a state, and no mistake of the command or the database. */
function isRefusal(error: unknown): boolean {
  return error instanceof Refusal || ERROR_ANSWERS[(error as { code?: string }).code!]?.refused === true;
}

/** One line, with the code. */
function lineOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  const name = typeof code === 'string' ? `${code}: ` : '';
  return `saga: ${name}${messageOf(error).replace(/\s*\n\s*/g, ' ')}${fixOf(error)}`;
}

/** Node says which package cannot be found, and not what to do. */
function fixOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND') return '';
  const name = /^Cannot find package '([^']+)'/.exec(messageOf(error))?.[1];
  if (name === undefined) return '';
  return `. Install it in your application (npm install ${name}), and run saga in the folder of your application.`;
}

/** Node reports no message of its own if several addresses were tried. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message !== '') return error.message;
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return first === undefined ? error.name : messageOf(first);
}

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
