import type { StepContext } from '../types/contexts.js';
import { SagaMetadata } from './saga-metadata.js';
import type { HasCompensation, HasSteps, NoItems } from './step.decorator.js';
import type { ApprovalDecision, ApprovalOptions } from '../options/step-options.js';

/* eslint-disable @typescript-eslint/no-explicit-any -- the shape of a method is checked, not what it carries */
type ApprovalMethod = (ctx: StepContext<any, any>, decision: ApprovalDecision) => any;
/* eslint-enable @typescript-eslint/no-explicit-any */

/**
 * Declares a method as a step that waits for a person: `sagas.approve(id, step, { by })` or `sagas.reject(…)`, holding
 * no worker, lease or connection meanwhile. Approved, the method is called with the decision, and what it returns is
 * the step's result. Rejected, it is not called, and the saga turns back.
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
