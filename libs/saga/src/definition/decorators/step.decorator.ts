import type {
  CompensationContext,
  ForEachContext,
  InputOf,
  ItemCompensationContext,
  StepContext,
  TransactionalCompensationContext,
  TransactionalStepContext,
} from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { IfItems, NoItems, ProbeAnswer, StepOptions } from '../options/step-options.js';

/**
 * What a class must have so that the keys of its decorators may read this input: steps that declare it. A saga whose steps
 * declare no input takes any.
 */
export type HasInput<Saga, Input> =
  unknown extends InputOf<Saga>
    ? unknown
    : [InputOf<Saga>] extends [Input]
      ? unknown
      : { 'its options read an input that its steps do not declare': Input };

/* oxlint-disable typescript/no-explicit-any -- the shape of a method is checked, not what it carries */
type ContextOf<Transactional extends boolean, Item> = IfItems<
  Item,
  Transactional extends true
    ? TransactionalStepContext<any, any, any> & ForEachContext<any, Item, any>
    : ForEachContext<any, Item, any>,
  Transactional extends true ? TransactionalStepContext<any, any, any> : StepContext<any, any>
>;

type CompensationContextOf<Transactional extends boolean, Item, Result> = IfItems<
  Item,
  Transactional extends true
    ? TransactionalCompensationContext<any, Result, any, any> &
        ItemCompensationContext<any, Result, Item, any>
    : ItemCompensationContext<any, Result, Item, any>,
  Transactional extends true
    ? TransactionalCompensationContext<any, Result, any, any>
    : CompensationContext<any, Result, any>
>;

type StepMethod<Transactional extends boolean, Item> = (ctx: ContextOf<Transactional, Item>) => any;

export type HasCompensation<
  Compensation extends string,
  Transactional extends boolean,
  Item,
  Method extends (...args: any) => any,
> = {
  [K in Compensation]: (ctx: CompensationContextOf<Transactional, Item, Awaited<ReturnType<Method>>>) => any;
};

/** Methods that a step's context is enough for, whatever kind of step they are: no compensations, no properties. */
export type HasSteps<After extends string> = {
  [K in After]: (
    ctx: TransactionalStepContext<any, any, any> & ForEachContext<any, any, any>,
    payload: any,
  ) => any;
};

type HasProbe<Probe extends string, Item, Method extends (...args: any) => any> = {
  [K in Probe]: (
    ctx: ContextOf<false, Item>,
  ) => ProbeAnswer<Awaited<ReturnType<Method>>> | Promise<ProbeAnswer<Awaited<ReturnType<Method>>>>;
};
/* oxlint-enable typescript/no-explicit-any */

/**
 * Declares a method as a step of its saga. Steps run in the order of their declaration, unless they set `after`. A
 * step's result is stored before the steps that wait for it begin. The compiler checks the names of other methods
 * (`compensate`, `after`, `probe`) and their types.
 */
export function Step<
  const Compensation extends string = never,
  const Transactional extends boolean = false,
  const After extends string = never,
  const Probe extends string = never,
  Input = unknown,
  Item = NoItems,
>(options: StepOptions<Compensation, Transactional, After, Probe, Input, Item> = {}) {
  return <
    Method extends StepMethod<Transactional, Item>,
    Target extends HasCompensation<Compensation, Transactional, Item, Method> &
      HasSteps<After> &
      HasProbe<Probe, Item, Method>,
  >(
    target: Target & HasInput<Target, Input>,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options);
  };
}
