import { linkSteps, type UnlinkedStep } from '../definition/graph/link-steps.js';
import { resolveRetryPolicy } from '../definition/options/retry-policy.js';
import type { SagaGraph } from '../definition/graph/saga-graph.js';

/** A step for tests: compensated, 2 attempts of itself and of its compensation, 100 ms apart. */
export function stepOf(name: string, options: Partial<UnlinkedStep> = {}): UnlinkedStep {
  const policy = resolveRetryPolicy({ attempts: 2, delay: 100, jitter: 0 });
  return {
    name,
    kind: 'step',
    after: [],
    join: 'all',
    concurrency: 10,
    pivot: false,
    compensate: `undo ${name}`,
    retry: policy,
    compensationRetry: policy,
    transactional: false,
    idempotent: true,
    compensateOnFailure: false,
    ...options,
  };
}

export function graphOf(...steps: UnlinkedStep[]): SagaGraph {
  const linked = linkSteps(steps);
  if (!(linked instanceof Map)) throw new Error(`no graph: ${JSON.stringify(linked)}`);
  return { name: 'test', version: 1, onFailure: 'compensate', steps: linked as SagaGraph['steps'] };
}

/** Steps one after the other. */
export function sequenceOf(...steps: UnlinkedStep[]): SagaGraph {
  return graphOf(
    ...steps.map((step, index) => ({ ...step, after: index === 0 ? [] : [steps[index - 1]!.name] })),
  );
}
