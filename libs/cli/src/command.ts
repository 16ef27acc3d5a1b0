import { parseArgs } from 'node:util';
import { nearestName } from 'nestjs-durable-saga/internal';
import type { Terminal } from './terminal.js';

/** An option as it is parsed, and as help shows it. */
export interface OptionSpec {
  readonly type: 'string' | 'boolean';
  /** May be given several times. */
  readonly multiple?: true;
  /** What its value is, in help: `<json>`. */
  readonly value?: string;
  readonly about: string;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** What was given for them. */
export type ValuesOf<O extends OptionSpecs> = {
  readonly [K in keyof O]?: O[K]['type'] extends 'boolean'
    ? boolean
    : O[K]['multiple'] extends true
      ? string[]
      : string;
};

/** A command as it was called. */
export interface Call<O extends OptionSpecs = OptionSpecs> {
  readonly operands: readonly string[];
  readonly values: ValuesOf<O>;
  readonly terminal: Terminal;
}

/** What a command prints in the end, and its exit code. */
export interface CommandAnswer {
  /** With --json. */
  readonly json: string;
  readonly text: readonly string[];
  /** Lines beside the text, on stderr. */
  readonly notes?: readonly string[];
  /** Default: done. */
  readonly exit?: number;
}

/** What a command has done. */
export function did(text: string, json: object = { done: true }): CommandAnswer {
  return { json: JSON.stringify(json), text: [text] };
}

/** What a command shows. */
export function shows(json: unknown, text: readonly string[]): CommandAnswer {
  return { json: JSON.stringify(json, undefined, 2), text };
}

/** A command: what runs, and what help says of it. */
export interface Command<O extends OptionSpecs = OptionSpecs> {
  /** What it is called by: `show`, `graph diff`. */
  readonly words: string;
  /** In order, as help shows them; those in brackets may be left out: `<saga>`, `[<input>]`. */
  readonly operands: readonly string[];
  /** A line. */
  readonly summary: string;
  /** More, for its own help. */
  readonly details?: string;
  readonly examples?: readonly string[];
  readonly options: O;
  /** @returns what to print, or the exit code if it has printed everything */
  run(call: Call<O>): Promise<number | CommandAnswer>;
}

/** For the compiler: `run` knows the values of its own options. */
export function command<O extends OptionSpecs>(spec: Command<O>): Command {
  return spec;
}

/** The exit codes of all commands. */
export const EXIT = {
  done: 0,
  /**
   * The saga's state refuses the action, the saga does not exist or did not complete, or a second operator is needed.
   */
  refused: 1,
  /** The command is invalid, or the outcome is unknown: for example, the database does not answer. */
  failed: 2,
} as const;

const text = (value: string, about: string): OptionSpec & { readonly type: 'string' } => ({
  type: 'string',
  value,
  about,
});
const several = (value: string, about: string) => ({ ...text(value, about), multiple: true }) as const;
const flag = (about: string) => ({ type: 'boolean', about }) as const;
export const option = { text, several, flag };

export const DATABASE_OPTIONS = {
  url: text('<postgres://…>', 'the URL of the database; default: the variable DATABASE_URL'),
  schema: text('<name>', `the schema of the sagas' tables; default: saga`),
} as const;

export const JSON_OPTION = { json: flag('print JSON') } as const;

/** The command was called in a way that it does not understand; its usage is shown. */
export class UsageError extends Error {
  readonly code = 'USAGE';

  constructor(
    message: string,
    readonly command?: Command,
  ) {
    super(message);
  }
}

/** What was asked for does not fit how things stand; nothing has happened. */
export class Refusal extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

/** The result is unknown, or the command cannot run: for example, the database lacks tables. */
export class CannotTell extends Error {
  constructor(
    message: string,
    readonly code: string,
  ) {
    super(message);
  }
}

/** @throws UsageError for unknown options, and operands that are missing or too many */
export function readCommandLine(command: Command, args: readonly string[]): Omit<Call, 'terminal'> {
  const { values, positionals } = parsed(command, args);
  const needed = command.operands.filter((operand) => !operand.startsWith('['));
  if (positionals.length < needed.length) {
    throw new UsageError(`Give ${needed.slice(positionals.length).join(' and ')}`);
  }
  if (positionals.length > command.operands.length && !command.operands.at(-1)?.includes('…')) {
    const extra = positionals[command.operands.length]!;
    // A shell takes unquoted JSON to pieces.
    const quoting = /[{}[\]":]/.test(extra) ? `; quote JSON: '{"sku":"cup"}'` : '';
    throw new UsageError(`'${extra}' is an unexpected argument${quoting}`);
  }
  return { operands: positionals, values: values as Call['values'] };
}

function parsed(command: Command, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(command.options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    const unknown = /^Unknown option '--([^'=]+)/.exec(sentence)?.[1];
    const nearest = unknown === undefined ? undefined : nearestName(unknown, Object.keys(command.options));
    throw new UsageError(`${sentence}${nearest === undefined ? '' : `. Did you mean '--${nearest}'?`}`);
  }
}
