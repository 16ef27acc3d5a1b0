import { SagaError } from '../errors/saga-errors.js';
import { graphDiff } from './graph-diff.js';
import { UsageError } from './usage-error.js';

/** Where a command writes, a line at a time. */
export interface Terminal {
  out(text: string): void;
  error(text: string): void;
}

/** @returns the exit code */
export type Command = (args: string[], terminal: Terminal) => Promise<number>;

/** By its words. */
const COMMANDS: Readonly<Record<string, { readonly run: Command; readonly usage: string }>> = {
  'graph diff': {
    run: graphDiff,
    usage: `saga graph diff <module file> [--url postgres://…] [--schema saga]
  Compares the sagas of a compiled module with the graphs that are stored, and says how many running
  instances each change matters to. Changes nothing. --url: default the variable DATABASE_URL.
  Ends with 0 when nobody is affected, 1 when somebody is, 2 when it could not tell.`,
  },
};

/** Could not do what was asked: wrong usage, or what it was given cannot be used. */
const FAILED = 2;

/** @returns the exit code of the command that the words name */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  const usage = Object.values(COMMANDS)
    .map((command) => command.usage)
    .join('\n\n');
  if (words.length === 0 || words.some((word) => word === '--help' || word === '-h')) {
    terminal.out(usage);
    return words.length === 0 ? FAILED : 0;
  }
  const name = words.slice(0, 2).join(' ');
  const command = COMMANDS[name];
  try {
    if (!command) throw new UsageError(`There is no command '${name}'`);
    return await command.run(words.slice(2), terminal);
  } catch (error) {
    terminal.error(error instanceof Error ? error.message : String(error));
    if (error instanceof UsageError) terminal.error(`\n${command?.usage ?? usage}`);
    else if (!(error instanceof SagaError) && error instanceof Error) terminal.error(error.stack ?? '');
    return FAILED;
  }
}
