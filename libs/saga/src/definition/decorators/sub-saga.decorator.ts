import type { Type } from '@nestjs/common';
import type { InputOf, ResultsOf, StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { HasCompensation, HasSteps } from './step.decorator.js';
import type { NoItems, SubSagaOptions } from '../options/step-options.js';

/* oxlint-disable typescript/no-explicit-any -- the shape of a method is checked, not what it carries */
type SubSagaMethod<Child> = (ctx: StepContext<any, any>) => InputOf<Child> | Promise<InputOf<Child>>;
/* oxlint-enable typescript/no-explicit-any */

/**
 * Declares a method as a step that runs another saga. The method returns the input of the other saga, which is started
 * together with the step's checkpoint. The step waits for it without a worker, and its result is the results of the
 * other saga. If the other saga compensates, the step fails. Compensating the step compensates the other saga and then
 * calls `compensate`, if it is set. Cancelling this saga cancels the other.
 *
 * @param saga a function that returns the class, because two files may import each other
 */
export function SubSaga<Child, const Compensation extends string = never, const After extends string = never>(
  saga: () => Type<Child>,
  options: SubSagaOptions<Compensation, After> = {},
) {
  return <
    Method extends SubSagaMethod<Child>,
    Target extends HasCompensation<Compensation, false, NoItems, () => ResultsOf<Child>> & HasSteps<After>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options, { kind: 'sub-saga', child: saga });
  };
}
