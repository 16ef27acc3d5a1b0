import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { HasCompensation, HasSteps } from './step.decorator.js';
import type { NoItems, WaitForOptions } from '../options/step-options.js';

/* oxlint-disable typescript/no-explicit-any -- the shape of a method is checked, not what it carries */
type WaitForMethod = (ctx: StepContext<any, any>, payload: any) => any;
/* oxlint-enable typescript/no-explicit-any */

/**
 * Declares a method as a step that waits for a signal, sent by `sagas.signal()`. It holds no worker, lease or
 * connection while it waits. Then the method is called with the signal's payload in its stored form, and its return
 * value is the step's result. If the method throws `StepRejectedError`, the saga compensates. After any other error, it
 * is retried with the same payload. A signal that arrives before the saga waits for it is kept. Signals of one name are
 * consumed once, in the order in which they were sent.
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
