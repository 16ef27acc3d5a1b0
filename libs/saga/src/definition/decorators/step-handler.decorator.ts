import type {
  HandlerCompensationContext,
  HandlerContext,
  TransactionalHandlerCompensationContext,
  TransactionalHandlerContext,
} from '../types/handler-contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { ContractInput, ContractResult } from '../types/remote-input.js';
import type { ProbeAnswer, StepHandlerOptions } from '../options/step-options.js';

/* oxlint-disable typescript/no-explicit-any -- the shape of a method is checked, not what it carries */
type HandlerContextOf<Transactional extends boolean, Input> = Transactional extends true
  ? TransactionalHandlerContext<Input, any>
  : HandlerContext<Input>;

type HandlerMethod<Name extends string, Transactional extends boolean> = (
  ctx: HandlerContextOf<Transactional, ContractInput<Name>>,
) => ContractResult<Name> | Promise<ContractResult<Name>>;

type HasHandlerCompensation<
  Compensation extends string,
  Transactional extends boolean,
  Method extends (...args: any) => any,
> = {
  [K in Compensation]: (
    ctx: Transactional extends true
      ? TransactionalHandlerCompensationContext<any, Awaited<ReturnType<Method>>, any>
      : HandlerCompensationContext<any, Awaited<ReturnType<Method>>>,
  ) => any;
};

type HasHandlerProbe<Probe extends string, Method extends (...args: any) => any> = {
  [K in Probe]: (
    ctx: HandlerContext<any>,
  ) => ProbeAnswer<Awaited<ReturnType<Method>>> | Promise<ProbeAnswer<Awaited<ReturnType<Method>>>>;
};
/* oxlint-enable typescript/no-explicit-any */

/**
 * Declares a method of any provider as the handler of the remote steps of this name (`@RemoteStep`), in any saga and
 * any process over the same database. It runs as a step does: at least once with one idempotency key, retried by
 * `retry`, and compensated by `compensate` when the saga compensates. A process without the handler never claims the
 * step.
 */
export function StepHandler<
  const Name extends string,
  const Compensation extends string = never,
  const Transactional extends boolean = false,
  const Probe extends string = never,
>(name: Name, options: StepHandlerOptions<Compensation, Transactional, Probe, ContractInput<Name>> = {}) {
  return <
    Method extends HandlerMethod<Name, Transactional>,
    Target extends HasHandlerCompensation<Compensation, Transactional, Method> &
      HasHandlerProbe<Probe, Method>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineHandler(target, { method: key, name, options });
  };
}
