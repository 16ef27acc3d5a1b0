import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { ContractResult, InputGiven, IsRemote, RemoteResult } from '../types/remote-input.js';
import type { HasCompensation, HasSteps } from './step.decorator.js';
import type { NoItems, RemoteStepOptions } from '../options/step-options.js';

// oxlint-disable-next-line typescript/no-explicit-any -- the shape of a method is checked, not what it carries
type RemoteMethod<Handler extends string> = (ctx: StepContext<any, any>) => InputGiven<Handler>;

type ResultOf<Handler extends string, R> =
  IsRemote<R> extends true ? RemoteResult<R> : ContractResult<Handler>;

/**
 * Declares a method as a step whose work a `@StepHandler` of this name does, in any process over the same database. The
 * method returns the handler's input, and the step's result is the handler's result. While no process has the handler,
 * the saga waits. If the handler throws `StepRejectedError`, or its retries are exhausted, the saga compensates.
 * Compensating the step runs the handler's compensation in a process that has the handler, and then calls `compensate`,
 * if it is set.
 */
export function RemoteStep<
  const Handler extends string,
  const Compensation extends string = never,
  const After extends string = never,
>(handler: Handler, options: RemoteStepOptions<Compensation, After> = {}) {
  return <
    Method extends RemoteMethod<Handler>,
    Target extends HasCompensation<
      Compensation,
      false,
      NoItems,
      () => ResultOf<Handler, Awaited<ReturnType<Method>>>
    > &
      HasSteps<After>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options, { kind: 'remote', handler });
  };
}
