import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CompensationContext, StepContext } from '../../definition/types/contexts.js';
import type { Evaluator } from '../expression/evaluator.js';
import type { Expression } from '../expression/expression.js';

/** What the calls of one file share. */
export interface Surroundings {
  /** The path of the file, for messages. */
  readonly file: string;
  /** Its folder, which relative paths are relative to. */
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

/** The values of the expressions of one call, and what of them must not be shown. */
export class CallValues {
  private readonly hidden = new Set<string>();

  constructor(
    private readonly context: CallContext,
    private readonly surroundings: Surroundings,
  ) {}

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
    let shown = text;
    for (const value of this.hidden) shown = shown.replaceAll(value, '***');
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
