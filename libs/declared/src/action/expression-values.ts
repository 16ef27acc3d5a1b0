import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  type CompensationContext,
  type StepContext,
  StepRejectedError,
  UnknownOutcomeError,
} from 'nestjs-durable-saga';
import { type Evaluator, ExpressionError } from '../expression/evaluator.js';
import type { Expression } from '../expression/expression.js';
import { NoValueError } from '../expression/template.js';

/** What the calls of one file share. */
export interface Surroundings {
  /** The path of the file, for messages. */
  readonly file: string;
  /** The file's folder, which relative paths are relative to. */
  readonly folder: string;
  readonly evaluator: Evaluator;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Paths of files, by name. */
  readonly secrets: ReadonlyMap<string, string>;
}

/** The context of a step or of a compensation. */
export type CallContext = Omit<
  StepContext,
  'round' | 'setTags' | 'progress' | 'heartbeat' | 'lastHeartbeat'
> &
  Partial<Pick<StepContext, 'round'>> &
  Partial<Pick<CompensationContext, 'result' | 'failure'>>;

/** Shorter values are parts of too many texts. */
const SHORTEST_HIDDEN = 4;

/** What may be base64, or base64url, of a value. */
const BASE64 = /[\w+/-]{6,}={0,2}/g;

/** Is the value in what is decoded? Its beginning may be cut off, and what comes first may be no part of it. */
function isIn(coded: string, value: string): boolean {
  return [0, 1, 2, 3].some((cut) => Buffer.from(coded.slice(cut), 'base64').toString('utf8').includes(value));
}

/** The values of the expressions of one call, and what of them must not be shown. */
export class ExpressionValues {
  private readonly hidden = new Set<string>();

  constructor(
    readonly context: CallContext,
    private readonly surroundings: Surroundings,
    /** Begins messages about expressions: the call, or the place in the file. */
    private readonly where: string,
  ) {}

  /**
   * Does work that evaluates expressions. They always fail in the same way, so that a retry does not help.
   * @throws StepRejectedError if an expression fails, or has no value in a text
   */
  async evaluated<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ExpressionError || error instanceof NoValueError)) throw error;
      const { failure, result } = this.context;
      const hint =
        error instanceof NoValueError && failure && result === undefined
          ? '. The outcome of the step is unknown, so it has no result: use idempotencyKey, or a default ($exists(result) ? …)'
          : '';
      throw new StepRejectedError(this.redacted(`${this.where}: ${error.message}${hint}`));
    }
  }

  /**
   * The result of a call that had its effect.
   * @param result the expression of the file; undefined: the result is `byDefault`
   * @param answer what the expression can name
   * @throws UnknownOutcomeError if the expression fails
   */
  async resultOf(result: Expression | undefined, answer: object, byDefault: unknown): Promise<unknown> {
    if (!result) return byDefault;
    try {
      return await this.evaluated(async () => (await this.of([result], answer))(result));
    } catch (error) {
      throw new UnknownOutcomeError((error as Error).message);
    }
  }

  /**
   * Evaluates expressions together.
   * @param more values by name, beside those of the context
   * @throws ExpressionError
   */
  async of(
    expressions: readonly Expression[],
    more: object = {},
  ): Promise<(expression: Expression) => unknown> {
    const data = { ...this.dataFor(expressions), ...more };
    const values = await this.surroundings.evaluator.evaluate(expressions, data).answer;
    const byExpression = new Map(expressions.map((expression, n) => [expression, values[n]]));
    return (expression) => byExpression.get(expression);
  }

  /** A text without the values of variables and secrets. */
  redacted(text: string): string {
    const values = [...this.hidden].sort((a, b) => b.length - a.length);
    // Also within something longer, such as the name and the password of basic authentication.
    let shown = text.replace(BASE64, (coded) => (values.some((value) => isIn(coded, value)) ? '***' : coded));
    for (const value of values)
      for (const form of new Set([value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]))
        shown = shown.replaceAll(form, '***');
    return shown;
  }

  /** Redacts a text whose beginning or end may have been cut off, in the middle of a value. */
  redactedPart(text: string): string {
    let shown = this.redacted(text);
    for (const value of this.hidden) {
      for (let length = value.length - 1; length >= SHORTEST_HIDDEN; length -= 1) {
        if (shown.startsWith(value.slice(-length))) shown = `***${shown.slice(length)}`;
        if (shown.endsWith(value.slice(0, length))) shown = `${shown.slice(0, -length)}***`;
      }
    }
    return shown;
  }

  private dataFor(expressions: readonly Expression[]): Record<string, unknown> {
    const data: Record<string, unknown> = {};
    for (const name of new Set(expressions.flatMap(({ names }) => names))) data[name] = this.valueOf(name);
    const env = expressions.flatMap((one) => one.env);
    const secrets = expressions.flatMap((one) => one.secrets);
    data.env = Object.fromEntries(env.map((name) => [name, this.hide(this.surroundings.environment[name])]));
    data.secrets = Object.fromEntries(secrets.map((name) => [name, this.hide(this.secretOf(name))]));
    return data;
  }

  private valueOf(name: string): unknown {
    const { sagaId: id, correlationId, fencingToken } = this.context;
    if (name === 'saga') return { id, correlationId };
    if (name === 'fencingToken') return String(fencingToken);
    return this.context[name as keyof CallContext];
  }

  private secretOf(name: string): string | undefined {
    const { secrets, folder } = this.surroundings;
    const path = secrets.get(name);
    return path === undefined ? undefined : readFileSync(resolve(folder, path), 'utf8').replace(/\r?\n$/, '');
  }

  private hide(value: string | undefined): string | undefined {
    if (value !== undefined && value.length >= SHORTEST_HIDDEN) this.hidden.add(value);
    return value;
  }
}
