import type { Type } from '@nestjs/common';
import {
  Approval,
  type ItemsOf,
  type KeyContext,
  type NodeOptions,
  type Predicate,
  RemoteStep,
  Saga,
  type SagaOptions,
  type ScheduleOptions,
  type ScheduleTick,
  type StandardSchema,
  Step,
  type StepOptions,
  StepRejectedError,
  SubSaga,
  WaitFor,
} from 'nestjs-durable-saga';
import { Later, SUB_SAGA_OPTIONS, WORK_OPTIONS, withoutUndefined } from 'nestjs-durable-saga/internal';
import { resultCheck } from './json-schema-check.js';
import type { PreparedCall, ProbeCall } from '../action/call.js';
import { type CallContext, ExpressionValues, type Surroundings } from '../action/expression-values.js';
import { ExecCall } from '../action/exec-call.js';
import { HttpCall } from '../action/http-call.js';
import type { HttpConnections } from '../action/http-connections.js';
import { MessageCall } from '../action/message-call.js';
import { type FindMethod, ProviderCall } from '../action/provider-call.js';
import type { Expression } from '../expression/expression.js';
import { expressionsOf, filled, type Template } from '../expression/template.js';
import type { CallFile, SagaFile, SignalFile, StepFile } from '../format/saga-file.js';

/** What a class is made of, beside its file. */
export interface ClassParts {
  readonly surroundings: Surroundings;
  readonly connections: HttpConnections;
  readonly input: StandardSchema | undefined;
  /** What results of steps must satisfy. */
  readonly resultSchemas: ReadonlyMap<string, StandardSchema | undefined>;
  /** The methods of the application's providers. */
  readonly findMethod: FindMethod;
  /** The class of a sub-saga. It is asked once all files are read. */
  readonly childOf: (saga: string) => Type;
}

type Method = (ctx: CallContext, received?: unknown) => unknown;
/** A decorator of the core, which checks more at compile time than a file can give it. */
type MethodDecorator = (target: never, key: string, descriptor: TypedPropertyDescriptor<never>) => void;

const TIMEOUTS = { http: '30s', exec: '10m' } as const;

/**
 * Makes the class that a saga's file stands for: one method per step, decorated as a user would decorate it. Everything
 * else takes it as any other class.
 */
export function sagaClass(file: SagaFile, parts: ClassParts): Type {
  const {
    saga: name,
    steps,
    lockKey,
    schedule,
    $schema: _,
    secrets: __,
    description: ___,
    ...options
  } = file;
  const type = { [name]: class {} }[name]!;
  const builder = new ClassBuilder(type, parts);
  for (const [step, definition] of steps) builder.add(step, definition);
  const own = {
    ...{ ...options, input: parts.input, lockKey: lockKey && builder.lockKey(lockKey) },
    schedule: schedule && builder.schedule(schedule),
  };
  Saga({ name, ...withoutUndefined(own) })(type);
  return type;
}

class ClassBuilder {
  constructor(
    private readonly type: Type,
    private readonly parts: ClassParts,
  ) {}

  add(step: string, definition: StepFile): void {
    const { compensate, approval, waitFor, subSaga, handler, message } = definition;
    if (message?.reply) return this.addRequest(step, definition, message.reply);
    const node = this.nodeOptions(step, definition);
    if (compensate) {
      const call = this.callOf(compensate);
      this.define(compensationOf(step), (ctx) => call.run(ctx));
    }
    if (approval) {
      const { timeout, result } = approval;
      this.define(step, (ctx, decision) => this.received(ctx, { decision }, decision, result));
      this.decorate(step, Approval(withoutUndefined({ ...node, timeout })));
    } else if (waitFor) {
      this.addWait(step, waitFor, node);
    } else if (subSaga) {
      this.define(step, (ctx) => this.valueOf(ctx, subSaga.input));
      this.decorate(
        step,
        SubSaga(() => this.parts.childOf(subSaga.saga), node),
      );
    } else if (handler) {
      this.define(step, (ctx) => this.valueOf(ctx, handler.input));
      this.decorate(step, RemoteStep(handler.name, withoutUndefined({ ...node, version: handler.version })));
    } else if (message) {
      const call = this.callOf(definition);
      this.define(step, (ctx) => call.run(ctx));
      this.decorate(step, Step(node));
    } else this.addWork(step, definition, node);
  }

  /**
   * A message with a reply is two steps of the graph: one that publishes, and one that waits, whose result is the step's.
   * The compensation belongs to the former, since a message may have had its effect also if no reply arrived.
   */
  private addRequest(step: string, definition: StepFile, reply: SignalFile): void {
    const { pivot, retry, compensate, when } = definition;
    const sent = requestOf(step);
    const call = this.callOf(definition);
    this.define(sent, (ctx) => call.run(ctx));
    const node = this.nodeOptions(sent, { ...definition, pivot: undefined });
    this.decorate(sent, Step(node));
    if (compensate) {
      const undo = this.callOf(compensate);
      this.define(compensationOf(sent), (ctx) => {
        const isRefused = ctx.failure?.kind === 'rejected' && ctx.failure.step === step;
        return isRefused ? undefined : undo.run(withReply(ctx, step));
      });
    }
    const wasSent: Predicate = ({ results }) => Object.hasOwn(results as object, sent);
    this.addWait(step, reply, withoutUndefined({ after: sent, retry, pivot, when: when && wasSent }));
  }

  private addWait(step: string, { signal, timeout, reject, result }: SignalFile, node: NodeOptions): void {
    const checked = resultCheck(step, this.parts.resultSchemas.get(step));
    this.define(step, async (ctx, payload) => {
      if (reject && (await this.isTrue(ctx, reject, { payload })))
        throw new StepRejectedError(`The signal '${signal}' was rejected: ${reject.source}`);
      return checked(await this.received(ctx, { payload }, payload, result));
    });
    this.decorate(step, WaitFor({ ...withoutUndefined({ ...node, timeout }), signal }));
  }

  lockKey(expression: Expression): NonNullable<SagaOptions['lockKey']> {
    const keyOf = async ({ input, tags }: KeyContext<unknown, undefined>) => {
      const [key] = await this.parts.surroundings.evaluator.evaluate([expression], { input, tags }).answer;
      if (typeof key === 'string' || typeof key === 'number') return String(key);
      throw new TypeError(`${this.where(expression)}: lockKey must return a text`);
    };
    return later(keyOf);
  }

  schedule({ input, ...options }: NonNullable<SagaFile['schedule']>): ScheduleOptions {
    if (!input) return withoutUndefined(options);
    const expressions = expressionsOf(input);
    const inputAt = async ({ at, triggered }: ScheduleTick) => {
      const tick = { at: at.toISOString(), triggered };
      const values = await this.parts.surroundings.evaluator.evaluate(expressions, tick).answer;
      return filled(input, (expression) => values[expressions.indexOf(expression)]);
    };
    return { ...withoutUndefined(options), input: inputAt };
  }

  private addWork(step: string, definition: StepFile, node: NodeOptions): void {
    const { probe, forEach } = definition;
    const { timeout = TIMEOUTS[definition.exec ? 'exec' : 'http'] } = definition;
    const call = this.callOf(definition);
    const checked = resultCheck(step, this.parts.resultSchemas.get(step));
    this.define(step, async (ctx) => checked(await call.run(ctx)));
    if (probe) {
      const asked = this.probeCallOf(probe);
      this.define(probeOf(step), async (ctx) => {
        const answer = await asked.probe(ctx);
        return typeof answer === 'object' ? { done: await checked(answer.done) } : answer;
      });
    }
    const options: StepOptions = {
      ...node,
      ...optionsIn(definition, WORK_OPTIONS),
      timeout,
      ...(probe && { probe: probeOf(step) }),
      ...(forEach && { forEach: this.itemsOf(forEach) }),
    };
    this.decorate(step, Step(options));
  }

  private nodeOptions(step: string, definition: StepFile): NodeOptions {
    const { when, compensate } = definition;
    return withoutUndefined({
      ...optionsIn(definition, SUB_SAGA_OPTIONS),
      compensate: compensate && compensationOf(step),
      when: when && this.predicateOf(when),
    });
  }

  private callOf({ call, message, ...request }: CallFile): PreparedCall {
    const { surroundings, findMethod } = this.parts;
    if (message) return new MessageCall(message, surroundings);
    return call ? new ProviderCall(call, surroundings, findMethod) : this.probeCallOf(request);
  }

  private probeCallOf({ http, exec }: CallFile): ProbeCall {
    const { surroundings, connections } = this.parts;
    return http ? new HttpCall(http, surroundings, connections) : new ExecCall(exec!, surroundings);
  }

  private predicateOf(when: Expression): Predicate {
    return later((ctx: CallContext) => this.isTrue(ctx, when));
  }

  /** One item counts as a list of one, and nothing as none: JSONata makes no difference. */
  private itemsOf(forEach: Expression): ItemsOf {
    return later(async (ctx: CallContext) => {
      const items = await this.evaluate(ctx, forEach);
      return Array.isArray(items) ? (items as unknown[]) : items === undefined ? [] : [items];
    });
  }

  private async isTrue(ctx: CallContext, expression: Expression, more?: object): Promise<boolean> {
    const value = await this.evaluate(ctx, expression, more);
    if (typeof value === 'boolean') return value;
    const what = value === undefined ? 'has no value' : 'is neither true nor false';
    throw new StepRejectedError(
      `${this.where(expression)}: '${expression.source}' ${what}. Write a comparison, or $boolean(…).`,
    );
  }

  private async received(
    ctx: CallContext,
    more: object,
    byDefault: unknown,
    result: Expression | undefined,
  ): Promise<unknown> {
    return result ? this.evaluate(ctx, result, more) : byDefault;
  }

  private async valueOf(ctx: CallContext, template: Template | undefined): Promise<unknown> {
    if (!template) return undefined;
    const { surroundings } = this.parts;
    const values = new ExpressionValues(ctx, surroundings, surroundings.file);
    return values.evaluated(async () => filled(template, await values.of(expressionsOf(template))));
  }

  private async evaluate(ctx: CallContext, expression: Expression, more?: object): Promise<unknown> {
    const values = new ExpressionValues(ctx, this.parts.surroundings, this.where(expression));
    return values.evaluated(async () => (await values.of([expression], more))(expression));
  }

  private where({ at }: Expression): string {
    return `${this.parts.surroundings.file}:${at.line}:${at.column}`;
  }

  private define(name: string, method: Method): void {
    Object.defineProperty(this.type.prototype, name, { value: method, writable: true, configurable: true });
  }

  private decorate(step: string, decorator: unknown): void {
    (decorator as MethodDecorator)(this.type.prototype as never, step, {});
  }
}

/** The options of a table that a file has. */
function optionsIn(file: StepFile, table: object): object {
  return Object.fromEntries(Object.entries(file).filter(([name]) => name in table));
}

/** A function whose answer the engine waits for, although its type is one whose answer is there at once. */
function later<C, T>(ask: (given: C) => Promise<T>): (given: C) => T {
  return (given) => new Later(ask(given)) as T;
}

/** Step names have no dot, so that these cannot be names of steps. */
const compensationOf = (step: string): string => `${step}.compensate`;
const probeOf = (step: string): string => `${step}.probe`;
const requestOf = (step: string): string => `${step}.send`;

/** The step of the file to which a step of the graph belongs. */
export const ownerOf = (step: string): string => step.split('.', 1)[0]!;

/** The context of a compensation of a message: its result is the reply. Undefined: none arrived. */
function withReply(ctx: CallContext, step: string): CallContext {
  const { sagaId, correlationId, tags, input, attempt, results, signal, fencingToken, idempotencyKey } = ctx;
  const result = (results as Readonly<Record<string, unknown>>)[step];
  return {
    ...{ sagaId, correlationId, tags, step, input, attempt, results, signal, fencingToken, idempotencyKey },
    ...{ failure: ctx.failure, result, publish: (message) => ctx.publish(message) },
  };
}
