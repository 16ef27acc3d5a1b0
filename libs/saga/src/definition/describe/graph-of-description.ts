import { SagaDefinitionError } from '../../errors.js';
import { linkSteps, type UnlinkedStep } from '../graph/link-steps.js';
import type { RetryDescription, SagaDescription, StepDescription } from './saga-description.js';
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
  const { name, version, timeout, sla, onFailure, concurrency, redact, locked, inputChecked, schedule } =
    description;
  const linked = linkSteps(description.steps.map(nodeOf));
  if (!(linked instanceof Map)) throw new Error(`The stored graph of ${name}@${version} has no order`);
  return Object.freeze({
    name,
    version,
    timeout,
    sla,
    onFailure,
    concurrency,
    redact,
    ...(description.timeoutComputed && { timeoutOf: () => notHere('timeout', name) }),
    ...(description.slaComputed && { slaOf: () => notHere('sla', name) }),
    ...(schedule && { schedule: scheduleOf(schedule, name) }),
    ...(inputChecked && { input: schemaNotHere(name) }),
    ...(description.concurrencyKeyed && { limitKey: () => notHere('concurrency.key', name) }),
    ...(description.rateLimit && { rateLimit: rateLimitOf(description.rateLimit, name) }),
    ...(description.lockMode && { rejectsWhileLocked: true as const }),
    ...(locked && { lockKey: () => notHere('lockKey', name) }),
    steps: linked as SagaGraph['steps'],
  });
}

function nodeOf(step: StepDescription): UnlinkedStep {
  const { name, kind, handler, compensation, conditional, forEach, concurrency = 1 } = step;
  const wait = waitOf(step);
  return {
    ...optionsOfNode(step),
    name,
    kind,
    after: step.after,
    join: step.join,
    compensate: compensation,
    retry: policyOf(step.retry),
    compensationRetry: policyOf(step.compensationRetry),
    timeout: wait ? undefined : step.timeout,
    when: conditional ? () => notHere('when', name) : undefined,
    forEach: forEach ? () => notHere('forEach', name) : undefined,
    concurrency,
    ...(step.sharedConcurrency && { sharedConcurrency: sharedOf(step.sharedConcurrency, name) }),
    delay: step.delay,
    delayOf: step.delayComputed && (() => notHere('delay', name)),
    optional: step.onFailure === 'continue',
    rateLimit: step.rateLimit && rateLimitOf(step.rateLimit, name),
    wait,
    remote: handler,
    childName: step.child,
  };
}

function sharedOf(
  { count, keyed }: NonNullable<StepDescription['sharedConcurrency']>,
  name: string,
): StepNode['sharedConcurrency'] {
  return { count, ...(keyed && { key: () => notHere('concurrency.key', name) }) };
}

function rateLimitOf(
  { count, per, keyed }: NonNullable<StepDescription['rateLimit']>,
  name: string,
): { count: number; per: number; key?: () => never } {
  return { count, per, ...(keyed && { key: () => notHere('rateLimit.key', name) }) };
}

/** A back-off that is a function cannot be called here. */
function policyOf({ backoff, ...policy }: RetryDescription): ResolvedRetryPolicy {
  return backoff === 'fixed' ? { ...policy, backoff } : policy;
}

function waitOf({ kind, name, signal, timeout, timeoutComputed, quorum }: StepDescription): StepNode['wait'] {
  if (kind !== 'signal' && kind !== 'approval') return undefined;
  const awaited = kind === 'approval' ? approvalSignal(name) : signal!;
  return {
    signal: awaited,
    ...(quorum !== undefined && { quorum }),
    ...(timeout !== undefined && { timeout }),
    ...(timeoutComputed && { timeoutOf: () => notHere('timeout', name) }),
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
