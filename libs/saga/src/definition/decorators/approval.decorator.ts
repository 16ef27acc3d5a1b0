import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { HasCompensation, HasSteps } from './step.decorator.js';
import type { ApprovalDecision, ApprovalOptions, NoItems } from '../options/step-options.js';

/* oxlint-disable typescript/no-explicit-any -- the shape of a method is checked, not what it carries */
type ApprovalMethod = (ctx: StepContext<any, any>, decision: ApprovalDecision) => any;
/* oxlint-enable typescript/no-explicit-any */

/**
 * Declares a method as a step that waits for the approval of an operator: `sagas.approve(id, step, { by })` or
 * `sagas.reject(…)`. It holds no worker, lease or connection while it waits. After approval, the method is called with
 * the decision, and its return value is the step's result. After rejection, the method is not called, and the saga
 * compensates.
 */
export function Approval<const Compensation extends string = never, const After extends string = never>(
  options: ApprovalOptions<Compensation, After> = {},
) {
  return <
    Method extends ApprovalMethod,
    Target extends HasCompensation<Compensation, false, NoItems, Method> & HasSteps<After>,
  >(
    target: Target,
    key: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    SagaMetadata.defineStep(target, key, options, { kind: 'approval' });
  };
}
