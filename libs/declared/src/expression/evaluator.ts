import type { StandardSchemaIssue } from 'nestjs-durable-saga';
import { Later } from 'nestjs-durable-saga/internal';
import { type EvaluationAnswer, EvaluationFailure } from './evaluation-process.js';
import { EvaluationQueue } from './evaluation-queue.js';
import type { Expression } from './expression.js';

/** An expression that failed, took too long, or needed too much memory. It always fails in the same way. */
export class ExpressionError extends Error {
  constructor(
    readonly expression: Expression,
    problem: string,
  ) {
    super(`the expression '${shortened(expression.source)}' failed: ${problem}`);
  }
}

/**
 * Evaluates expressions, and checks values by JSON Schemas, in processes of their own: what values others send decides how
 * long that takes, and how much memory. A plain path, such as `input.sku`, is followed here.
 */
export class Evaluator {
  private readonly queue = new EvaluationQueue();

  /**
   * The value of each expression, each a copy that can be stored as JSON.
   * @throws ExpressionError, by the answer
   */
  evaluate(expressions: readonly Expression[], data: object): Later<unknown[]> {
    return new Later(this.valuesOf(expressions, data));
  }

  /**
   * What is wrong with a value as JSON stores it: a provider may return a Date, for example. What cannot be stored is
   * refused by the engine, and nothing is wrong with it here.
   * @param schema JSON text of a JSON Schema
   */
  check(schema: string, value: unknown): Promise<readonly StandardSchemaIssue[]> {
    return new Later(this.issuesOf(schema, value)).answer;
  }

  private async issuesOf(schema: string, value: unknown): Promise<readonly StandardSchemaIssue[]> {
    const text = jsonOf(value);
    if (text === null) return [];
    try {
      const { issues } = await this.queue.ask({ schema, text });
      return issues!;
    } catch (error) {
      if (!(error instanceof EvaluationFailure)) throw error;
      return [{ message: `could not be checked: ${error.message}` }];
    }
  }

  private async valuesOf(expressions: readonly Expression[], data: object): Promise<unknown[]> {
    const values = expressions.map(({ path }) => path && followed(path, data));
    const others = expressions.filter((_, n) => !values[n]);
    const asked = others.length > 0 ? await this.asked(others, data) : [];
    let next = 0;
    return values.map((value) => (value ? value.found : asked[next++]));
  }

  private async asked(expressions: readonly Expression[], data: object): Promise<unknown[]> {
    let answer: EvaluationAnswer;
    try {
      answer = await this.queue.ask({ sources: expressions.map(({ source }) => source), data });
    } catch (error) {
      if (!(error instanceof EvaluationFailure)) throw error;
      if (expressions.length === 1) throw new ExpressionError(expressions[0]!, error.message);
      // Which of them it is, is found out by asking each.
      const values: unknown[] = [];
      for (const one of expressions) values.push(...(await this.asked([one], data)));
      return values;
    }
    const { failed, message, values } = answer;
    if (failed !== undefined) throw new ExpressionError(expressions[failed]!, message!);
    return values!.map((text) => (text === null ? undefined : (JSON.parse(text) as unknown)));
  }
}

/**
 * The value at the end of a path, as JSONata finds it. Undefined: there is a list on the way, through which JSONata goes
 * in its own manner.
 */
function followed(path: readonly string[], data: object): { found: unknown } | undefined {
  let value: unknown = data;
  for (const name of path) {
    if (Array.isArray(value)) return undefined;
    const object = Object(value) === value ? (value as Record<string, unknown>) : {};
    value = Object.hasOwn(object, name) ? object[name] : undefined;
  }
  return { found: typeof value === 'object' ? (JSON.parse(JSON.stringify(value)) as unknown) : value };
}

/** Undefined: there is no value. Null: JSON cannot represent it. */
function jsonOf(value: unknown): string | undefined | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function shortened(source: string): string {
  return source.length > 100 ? `${source.slice(0, 100)}…` : source;
}

let shared: Evaluator | undefined;

/** One for all sagas of the process. */
export function sharedEvaluator(): Evaluator {
  shared ??= new Evaluator();
  return shared;
}
