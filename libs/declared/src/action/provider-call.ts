import { StepRejectedError } from 'nestjs-durable-saga';
import { expressionsOf, filled } from '../expression/template.js';
import type { ProviderDefinition } from '../format/call-format.js';
import type { PreparedCall } from './call.js';
import { type CallContext, ExpressionValues, type Surroundings } from './expression-values.js';

/** A method of a provider, which receives the input and the context of the step. */
export type ProviderMethod = (input: unknown, context: object) => unknown;

/** Finds the method of a provider. A text says why there is none. */
export type FindMethod = (name: string) => ProviderMethod | string;

/** Calls a method of a provider of the application. */
export class ProviderCall implements PreparedCall {
  constructor(
    private readonly definition: ProviderDefinition,
    private readonly surroundings: Surroundings,
    private readonly find: FindMethod,
  ) {}

  async run(context: CallContext): Promise<unknown> {
    const { method, input } = this.definition;
    const found = this.find(method);
    if (typeof found === 'string') throw new StepRejectedError(found);
    const values = new ExpressionValues(context, this.surroundings, method);
    const given = await values.evaluated(async () =>
      input === undefined ? undefined : filled(input, await values.of(expressionsOf(input))),
    );
    return found(given, context);
  }
}
