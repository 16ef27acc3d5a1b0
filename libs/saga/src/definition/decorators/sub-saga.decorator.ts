import type { Type } from '@nestjs/common';
import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { InputOf, ResultsOf } from '../types/contexts.js';
import type { HasCompensation, HasSteps, NoItems } from './step.decorator.js';
import type { SubSagaOptions } from '../options/step-options.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- the shape of a method is checked, not what it carries */
type SubSagaMethod<Child> = (ctx: StepContext<any, any>) => InputOf<Child> | Promise<InputOf<Child>>;
/* eslint-enable @typescript-eslint/no-explicit-any */

/**
 * Declares a method as a step that runs another saga: what the method returns is that saga's input, and is started
 * together with the step's checkpoint. The step waits for it, holding no worker, and its result is the other's
 * results. If the other turns back, the step has failed. Undoing the step undoes the other through its own
 * compensations; then `compensate` is called, if it is given. Cancelling this saga cancels the other.
 *
 * @param saga the class; a function, since two files may need each other
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
