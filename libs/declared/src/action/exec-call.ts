import { isAbsolute, resolve } from 'node:path';
import { type ProbeAnswer, StepRejectedError, UnknownOutcomeError } from 'nestjs-durable-saga';
import type { ExecDefinition } from '../format/call-format.js';
import { expressionsOf, filled, filledText, type TextTemplate, writtenText } from '../expression/template.js';
import { identityOf, type ProbeCall, StepCallError, variableOf } from './call.js';
import { type CallContext, ExpressionValues, type Surroundings } from './expression-values.js';
import { type CommandToRun, type CommandEnd, runCommand } from './run-command.js';

const MAX_BYTES = 1024 * 1024;
/** Variables of this process that every command gets. All others may be secrets. */
const INHERITED = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SystemRoot', 'TEMP', 'PATHEXT'];
/** A probe's exit code for work that was not done. */
const NOT_DONE = 1;

/** A command of a declared saga. */
export class ExecCall implements ProbeCall {
  constructor(
    private readonly definition: ExecDefinition,
    private readonly surroundings: Surroundings,
  ) {}

  async run(context: CallContext): Promise<unknown> {
    const values = this.valuesOf(context);
    const end = await this.ended(values);
    const { code } = end;
    if (code === 0) return this.resultOf(end, values);
    const message = values.redacted(
      `${this.where} exited with ${code}${end.error === '' ? '' : `: ${values.redactedPart(end.error)}`}`,
    );
    if ((this.definition.reject ?? []).includes(code)) throw new StepRejectedError(message);
    throw new StepCallError(message);
  }

  async probe(context: CallContext): Promise<ProbeAnswer> {
    const values = this.valuesOf(context);
    const end = await this.ended(values);
    if (end.code === 0) return { done: await this.resultOf(end, values) };
    return end.code === NOT_DONE ? 'not-done' : 'unknown';
  }

  /** The command as the file has it, without values: these may be secret. */
  private get where(): string {
    const { command } = this.definition;
    return `'${typeof command === 'string' ? command : writtenText(command[0]!)}'`;
  }

  private valuesOf(context: CallContext): ExpressionValues {
    return new ExpressionValues(context, this.surroundings, this.where);
  }

  private async ended(values: ExpressionValues): Promise<CommandEnd> {
    const command = await values.evaluated(() => this.prepared(values));
    const end = await runCommand(command, values.context.signal);
    const where = this.where;
    switch (end.kind) {
      case 'exited':
        return end;
      case 'not-started':
        throw new StepCallError(values.redacted(`${where} could not be started: ${end.problem}`));
      case 'interrupted':
        throw new UnknownOutcomeError(values.redacted(`${where} ${end.problem}`));
    }
  }

  private async prepared(values: ExpressionValues): Promise<CommandToRun> {
    const {
      command,
      shell = false,
      env = new Map<string, TextTemplate>(),
      stdin,
      directory,
    } = this.definition;
    const isText = typeof command === 'string';
    const words = isText ? [] : command;
    const valueOf = await values.of(expressionsOf([words, env, stdin]));
    const input = stdin && filled(stdin, valueOf);
    const folder = resolve(this.surroundings.folder, directory ?? '.');
    const [program = isText ? command : '', ...args] = words.map((word) => filledText(word, valueOf));
    return {
      // The folder in which a program is looked up is that of this process otherwise.
      program: shell || isAbsolute(program) || !/[/\\]/.test(program) ? program : resolve(folder, program),
      ...{ args, shell, folder, maxBytes: this.definition.maxBytes ?? MAX_BYTES },
      stdin: input === undefined || typeof input === 'string' ? (input ?? '') : JSON.stringify(input),
      env: {
        ...this.inherited(),
        ...Object.fromEntries([...env].map(([name, text]) => [name, filledText(text, valueOf)])),
        ...Object.fromEntries(
          Object.entries(identityOf(values.context)).map(([name, text]) => [variableOf(name), text]),
        ),
      },
    };
  }

  private inherited(): Record<string, string> {
    const { environment } = this.surroundings;
    return Object.fromEntries(
      INHERITED.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
    );
  }

  private resultOf(end: CommandEnd, values: ExpressionValues): Promise<unknown> {
    const output = outputOf(end.output);
    return values.resultOf(this.definition.result, { output }, output);
  }
}

function outputOf(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    return trimmed;
  }
}
