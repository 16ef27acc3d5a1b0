import type { Type } from '@nestjs/common';
import { Approval } from '../../definition/decorators/approval.decorator.js';
import { RemoteStep } from '../../definition/decorators/remote-step.decorator.js';
import { Saga } from '../../definition/decorators/saga.decorator.js';
import { Step } from '../../definition/decorators/step.decorator.js';
import { SubSaga } from '../../definition/decorators/sub-saga.decorator.js';
import { WaitFor } from '../../definition/decorators/wait-for.decorator.js';
import type { ItemsOf, NodeOptions, Predicate, StepOptions } from '../../definition/options/step-options.js';
import type { StandardSchema } from '../../definition/types/standard-schema.js';
import { StepRejectedError } from '../../errors.js';
import type { Call } from '../action/call.js';
import { type CallContext, CallValues, type Surroundings } from '../action/call-values.js';
import { ExecCall } from '../action/exec-call.js';
import { HttpCall } from '../action/http-call.js';
import { type FindMethod, ProviderCall } from '../action/provider-call.js';
import type { Expression } from '../expression/expression.js';
import { expressionsOf, filled, type Template } from '../expression/template.js';
import type { CallFile, SagaFile, StepFile } from '../format/saga-file.js';
import type { Packages } from '../packages.js';

/** What a class is made of, beside its file. */
export interface ClassParts {
  readonly surroundings: Surroundings;
  readonly packages: Pick<Packages, 'undici'>;
  readonly input: StandardSchema | undefined;
  /** The methods of the application's providers. */
  readonly findMethod: FindMethod;
  /** The class of a sub-saga. It is asked once all files are read. */
  readonly childOf: (saga: string) => Type;
}

type Method = (ctx: CallContext, received?: unknown) => unknown;
/** A decorator of this package, which checks more at compile time than a file can give it. */
type MethodDecorator = (target: never, key: string, descriptor: TypedPropertyDescriptor<never>) => void;

const TIMEOUTS = { http: '30s', exec: '10m' } as const;

/**
 * Makes the class that a saga's file stands for: one method per step, decorated as a user would decorate it. Everything
 * else of this package takes it as any other class.
 */
export function sagaClass(file: SagaFile, parts: ClassParts): Type {
  const { saga: name, steps, lockKey, $schema: _, secrets: __, description: ___, ...options } = file;
  const type = { [name]: class {} }[name]!;
  const builder = new ClassBuilder(type, parts);
  for (const [step, definition] of steps) builder.add(step, definition);
  const own = { ...options, input: parts.input, lockKey: lockKey && builder.lockKey(lockKey) };
  Saga({ name, ...given(own) })(type);
  return type;
}

class ClassBuilder {
  constructor(
    private readonly type: Type,
    private readonly parts: ClassParts,
  ) {}

  add(step: string, definition: StepFile): void {
    const { compensate, approval, waitFor, subSaga, handler } = definition;
    const node = this.nodeOptions(step, definition);
    if (compensate) {
      const call = this.callOf(compensate);
      this.define(compensationOf(step), (ctx) => call.run(ctx));
    }
    if (approval) {
      const { timeout, result } = approval;
      this.define(step, (ctx, decision) => this.received(ctx, { decision }, decision, result));
      this.decorate(step, Approval(given({ ...node, timeout })));
    } else if (waitFor) {
      const { signal, timeout, reject, result } = waitFor;
      this.define(step, (ctx, payload) => {
        if (reject && this.isTrue(ctx, reject, { payload }))
          throw new StepRejectedError(`The signal '${signal}' was rejected: ${reject.source}`);
        return this.received(ctx, { payload }, payload, result);
      });
      this.decorate(step, WaitFor({ ...given({ ...node, timeout }), signal }));
    } else if (subSaga) {
      this.define(step, (ctx) => this.valueOf(ctx, subSaga.input));
      this.decorate(
        step,
        SubSaga(() => this.parts.childOf(subSaga.saga), node),
      );
    } else if (handler) {
      this.define(step, (ctx) => this.valueOf(ctx, handler.input));
      this.decorate(step, RemoteStep(handler.name, given({ ...node, version: handler.version })));
    } else this.addWork(step, definition, node);
  }

  lockKey(expression: Expression): (input: unknown) => string {
    return (input) => {
      const [key] = this.parts.surroundings.evaluator.evaluate([expression], { input });
      if (typeof key === 'string' || typeof key === 'number') return String(key);
      throw new TypeError(`${this.where(expression)}: lockKey must return a text`);
    };
  }

  private addWork(step: string, definition: StepFile, node: NodeOptions): void {
    const { probe, forEach, concurrency, idempotent, compensateOnFailure, rateLimit } = definition;
    const { timeout = TIMEOUTS[definition.exec ? 'exec' : 'http'] } = definition;
    const call = this.callOf(definition);
    this.define(step, (ctx) => call.run(ctx));
    if (probe) {
      const asked = this.callOf(probe);
      this.define(probeOf(step), (ctx) => asked.probe(ctx));
    }
    const options: StepOptions = {
      ...node,
      ...given({ timeout, concurrency, idempotent, compensateOnFailure, rateLimit }),
      ...(probe && { probe: probeOf(step) }),
      ...(forEach && { forEach: this.itemsOf(forEach) }),
    };
    this.decorate(step, Step(options));
  }

  private nodeOptions(step: string, definition: StepFile): NodeOptions {
    const { after, join, when, delay, savepoint, retry, compensate, compensationRetry } = definition;
    const { compensationTimeout, pivot, onFailure } = definition;
    return given({
      ...{ after, join, delay, savepoint, retry, compensationRetry, compensationTimeout, pivot, onFailure },
      compensate: compensate && compensationOf(step),
      when: when && this.predicateOf(when),
    });
  }

  private callOf({ http, exec, call }: CallFile): Call {
    const { surroundings, packages, findMethod } = this.parts;
    if (call) return new ProviderCall(call, surroundings, findMethod);
    return http ? new HttpCall(http, surroundings, packages.undici) : new ExecCall(exec!, surroundings);
  }

  private predicateOf(when: Expression): Predicate {
    return (ctx) => this.isTrue(ctx, when);
  }

  /** One item counts as a list of one, and nothing as none: JSONata makes no difference. */
  private itemsOf(forEach: Expression): ItemsOf {
    return (ctx) => {
      const items = this.evaluate(ctx, forEach);
      return Array.isArray(items) ? (items as unknown[]) : items === undefined ? [] : [items];
    };
  }

  private isTrue(ctx: CallContext, expression: Expression, more?: object): boolean {
    const value = this.evaluate(ctx, expression, more);
    if (typeof value === 'boolean') return value;
    const what = value === undefined ? 'has no value' : 'is neither true nor false';
    throw new StepRejectedError(
      `${this.where(expression)}: '${expression.source}' ${what}. Write a comparison, or $boolean(…).`,
    );
  }

  private received(
    ctx: CallContext,
    more: object,
    byDefault: unknown,
    result: Expression | undefined,
  ): unknown {
    return result ? this.evaluate(ctx, result, more) : byDefault;
  }

  private valueOf(ctx: CallContext, template: Template | undefined): unknown {
    if (!template) return undefined;
    const values = new CallValues(ctx, this.parts.surroundings);
    return filled(template, values.of(expressionsOf(template)));
  }

  private evaluate(ctx: CallContext, expression: Expression, more?: object): unknown {
    return new CallValues(ctx, this.parts.surroundings).of([expression], more)(expression);
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

/** Step names have no dot, so that these cannot be names of steps. */
const compensationOf = (step: string): string => `${step}.compensate`;
const probeOf = (step: string): string => `${step}.probe`;

/** The options that were given: an option that is present and undefined is not the same in all places. */
function given<T extends object>(options: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}
