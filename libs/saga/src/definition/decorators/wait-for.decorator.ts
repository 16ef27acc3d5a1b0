import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { HasCompensation, HasSteps, NoItems } from './step.decorator.js';
import type { WaitForOptions } from '../options/step-options.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- the shape of a method is checked, not what it carries */
type WaitForMethod = (ctx: StepContext<any, any>, payload: any) => any;
/* eslint-enable @typescript-eslint/no-explicit-any */

/**
 * Declares a method as a step that waits for a signal, sent by `sagas.signal()`: holding no worker, lease or
 * connection. Then the method is called with the signal's payload, in its stored form, and what it returns is the
 * step's result; what it throws refuses the payload as any step's error does (`StepRejectedError`: the saga turns back
 * at once, anything else is tried again by the retry policy, with the same payload). A signal that comes before the saga
 * waits for it is kept; those of one name are consumed once, in the order in which they came.
 */
export function WaitFor<const Compensation extends string = never, const After extends string = never>(
  options: WaitForOptions<Compensation, After>,
) {
  return <
    Method extends WaitForMethod,
    Target extends HasCompensation<Compensation, false, NoItems, Method> & HasSteps<After>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options, { kind: 'signal' });
  };
}
