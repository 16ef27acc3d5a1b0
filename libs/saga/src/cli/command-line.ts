import { parseArgs } from 'node:util';
import { nearestName } from '../shared/nearest-name.js';
import type { Call, Command } from './command.js';
import { UsageError } from './usage-error.js';

/** @throws UsageError for unknown options, and operands that are missing or too many */
export function readCommandLine(command: Command, args: readonly string[]): Omit<Call, 'terminal'> {
  const { values, positionals } = parsed(command, args);
  const needed = command.operands.filter((operand) => !isOptional(operand));
  if (positionals.length < needed.length) {
    throw new UsageError(`Give ${needed.slice(positionals.length).join(' and ')}`);
  }
  if (positionals.length > command.operands.length && !command.operands.at(-1)?.includes('…')) {
    const extra = positionals[command.operands.length];
    throw new UsageError(`'${extra}' is an unexpected argument${quoting(extra!)}`);
  }
  return { operands: positionals, values: values as Call['values'] };
}

export function isOptional(operand: string): boolean {
  return operand.startsWith('[');
}

function parsed(command: Command, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    throw new UsageError(`${sentence}${meant(sentence, Object.keys(command.options))}`);
  }
}

/** `. Did you mean '--status'?` of an option that there is not. */
function meant(sentence: string, known: readonly string[]): string {
  const unknown = /^Unknown option '--([^'=]+)/.exec(sentence)?.[1];
  const nearest = unknown === undefined ? undefined : nearestName(unknown, known);
  return nearest === undefined ? '' : `. Did you mean '--${nearest}'?`;
}

/** A shell takes unquoted JSON to pieces. */
function quoting(extra: string): string {
  return /[{}[\]":]/.test(extra) ? `; quote JSON: '{"sku":"cup"}'` : '';
}
