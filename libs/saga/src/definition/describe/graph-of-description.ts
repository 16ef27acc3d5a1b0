import { SagaDefinitionError } from '../../errors.js';
import { linkedGraph, type UnlinkedStep } from '../graph/link-steps.js';
import type {
  LimitDescription,
  RetryDescription,
  SagaDescription,
  StepDescription,
} from './saga-description.js';
import type { ResolvedRetryPolicy } from '../options/retry-policy.js';
import { approvalSignal, type SagaGraph, type StepNode } from '../graph/saga-graph.js';
import { optionsOfNode } from '../options/step-options.js';
import type { SagaSchedule } from '../options/schedule-options.js';
import type { StandardSchema } from '../types/standard-schema.js';

/**
 * The graph that a description was made of, for those who look at sagas and act on them without having their classes:
 * it has everything that a saga's state is decided by. Its functions are there, and cannot be called.
 */
export function graphOfDescription(description: SagaDescription): SagaGraph {
  const { name, version, timeout, sla, onFailure, redact, limit, rateLimit, schedule } = description;
  const own = {
    ...{ name, version, timeout, sla, onFailure, redact },
    timeoutOf: functionOf(description.timeoutComputed, 'timeout', name),
    slaOf: functionOf(description.slaComputed, 'sla', name),
    schedule: schedule && scheduleOf(schedule, name),
    input: description.inputChecked ? schemaNotHere(name) : undefined,
    limit: limit && limitOf(limit, 'limit.key', name),
    rateLimit: rateLimit && limitOf(rateLimit, 'rateLimit.key', name),
    rejectsWhileLocked: description.lockMode && (true as const),
    lockKey: functionOf(description.locked, 'lockKey', name),
  };
  return linkedGraph(own, description.steps.map(nodeOf));
}

function nodeOf(step: StepDescription): UnlinkedStep {
  const { name, kind, after, join, delay, itemsAtOnce = 1, limit, rateLimit } = step;
  const wait = waitOf(step);
  return {
    ...optionsOfNode(step),
    ...{ name, kind, after, join, delay, itemsAtOnce, wait },
    compensate: step.compensation,
    retry: policyOf(step.retry),
    compensationRetry: policyOf(step.compensationRetry),
    timeout: wait ? undefined : step.timeout,
    when: functionOf(step.conditional, 'when', name),
    forEach: functionOf(step.forEach, 'forEach', name),
    limit: limit && limitOf(limit, 'limit.key', name),
    delayOf: functionOf(step.delayComputed, 'delay', name),
    optional: step.onFailure === 'continue',
    rateLimit: rateLimit && limitOf(rateLimit, 'rateLimit.key', name),
    remote: step.handler,
    childName: step.child,
  };
}

/** A function that is there and cannot be called; undefined: the definition has none. */
function functionOf(isThere: boolean | undefined, what: string, name: string): (() => never) | undefined {
  return isThere ? () => notHere(what, name) : undefined;
}

function limitOf<Limit extends LimitDescription>({ keyed, ...limit }: Limit, what: string, name: string) {
  return { ...limit, key: functionOf(keyed, what, name) };
}

/** A back-off that is a function cannot be called here. */
function policyOf({ backoff, ...policy }: RetryDescription): ResolvedRetryPolicy {
  return backoff === 'fixed' ? { ...policy, backoff } : policy;
}

function waitOf({ kind, name, signal, timeout, timeoutComputed, quorum }: StepDescription): StepNode['wait'] {
  if (kind !== 'signal' && kind !== 'approval') return undefined;
  return {
    ...{ signal: kind === 'approval' ? approvalSignal(name) : signal!, quorum, timeout },
    timeoutOf: functionOf(timeoutComputed, 'timeout', name),
  };
}

function scheduleOf(
  { input, ...rule }: NonNullable<SagaDescription['schedule']>,
  name: string,
): SagaSchedule {
  return {
    ...rule,
    ...(input && { input: () => scheduleInputNotHere(name) }),
    next: () => notHere('schedule', name),
  };
}

function schemaNotHere(name: string): StandardSchema {
  const validate = () => notHere('input', name);
  return { '~standard': { version: 1, vendor: 'nestjs-durable-saga', validate } };
}

function scheduleInputNotHere(name: string): never {
  throw new SagaDefinitionError(
    `schedule.input of '${name}' is a function of its class, which this process does not have. Start the saga in the ` +
      `dashboard of an application that has it, or start its saga with an input: saga start ${name} '{…}'.`,
  );
}

function notHere(what: string, name: string): never {
  throw new Error(`${what} of '${name}' is a function of its class, which this process does not have`);
}
