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
  /** @returns the exit code */
  run(call: Call<O>): Promise<number>;
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
