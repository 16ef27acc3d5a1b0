import type {
  CompensationContext,
  ForEachContext,
  ItemCompensationContext,
  StepContext,
  TransactionalCompensationContext,
  TransactionalStepContext,
} from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { ProbeAnswer, StepOptions } from '../options/step-options.js';

/** The items of a step without `forEach`: a type that no list can have. */
declare const noItems: unique symbol;
export interface NoItems {
  readonly [noItems]: never;
}

/** `Then`, unless the step has no items; `any` and `never`, which `[]` is made of, are items. */
type IfItems<Item, Then, Else> = 0 extends 1 & Item
  ? Then
  : [Item] extends [never]
    ? Then
    : [Item] extends [NoItems]
      ? Else
      : Then;

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
  Item = NoItems,
>(options: StepOptions<Compensation, Transactional, After, Probe, Item> = {}) {
  return <
    Method extends StepMethod<Transactional, Item>,
    Target extends HasCompensation<Compensation, Transactional, Item, Method> &
      HasSteps<After> &
      HasProbe<Probe, Item, Method>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options);
  };
}
