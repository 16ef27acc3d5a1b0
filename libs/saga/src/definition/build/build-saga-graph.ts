import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import { analyzeGraph } from '../graph/analyze-graph.js';
import { readSaga } from './check-saga.js';
import { type InheritedPolicies, readStep } from './check-step.js';
import { linkSteps } from '../graph/link-steps.js';
import { OptionReader } from '../options/option-reader.js';
import { DEFAULT_POLICIES, retryPolicy, type RetryPolicy } from '../options/retry-policy.js';
import { type Report, type SagaFinding, textOfFinding, textOfProblems } from '../../shared/diagnostic.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import { SagaMetadata } from '../decorators/saga-metadata.js';
import { methodsOf } from '../decorators/saga-methods.js';

/** The module's retry policies, for sagas and steps without their own. */
export interface DefaultPolicies {
  /** The policy of steps. Default: 3 attempts. */
  readonly retry?: RetryPolicy;
  /** The policy of compensations. Default: 10 attempts. */
  readonly compensationRetry?: RetryPolicy;
}

/**
 * Returns the graph of a class decorated with `@Saga`.
 * @throws SagaDefinitionError that names the class and all problems, each with its fix
 */
export function buildSagaGraph(saga: Type, defaults: DefaultPolicies = {}): SagaGraph {
  const { graph, findings } = readSagaGraph(saga, defaults);
  if (graph) return graph;
  throw new SagaDefinitionError(
    `${saga.name || 'An unnamed class'}: ${textOfProblems(findings.map(textOfFinding))}`,
  );
}

/**
 * Checks a saga's definition without starting an application: its options, the edges of its graph, and steps that can
 * never run. Use it in tests of applications: `expect(analyzeSaga(PlaceOrderSaga)).toEqual([])`. It does not check the
 * retry policies of SagaModule's options.
 * @returns all problems, each with its fix; it does not throw for an invalid saga
 */
export function analyzeSaga(saga: Type): SagaFinding[] {
  return [...readSagaGraph(saga, {}).findings];
}

/** Returns the graph, or all problems of the class. */
function readSagaGraph(
  saga: Type,
  defaults: DefaultPolicies,
): { graph?: SagaGraph; findings: readonly SagaFinding[] } {
  const findings: SagaFinding[] = [];
  const reportOf =
    (step?: string): Report =>
    (problem, fix) =>
      findings.push({ ...(step !== undefined && { step }), problem, fix, severity: 'error' });
  const report = reportOf();

  const options = SagaMetadata.sagaOf(saga);
  if (!options) {
    report('it is not a saga', 'decorate the class with @Saga()');
    return { findings };
  }
  const { own, policies } = readSaga(saga, options, report);
  const inherited = inheritedPolicies(policies, defaults, report);
  for (const { method } of SagaMetadata.staticStepsOf(saga)) {
    reportOf(method)('it is static, but steps must be instance methods', 'remove static');
  }
  const methods = methodsOf(saga);
  const nodes = SagaMetadata.stepsOf(saga).map((step, index) =>
    readStep(step, methods.steps[index - 1], methods, inherited, reportOf(step.method)),
  );
  const steps = linkSteps(nodes);
  if (Array.isArray(steps)) return { findings: [...findings, ...steps] };
  const graph: SagaGraph = Object.freeze({ ...own, steps });
  // Of options that are wrong it could say only what would be wrong if they were others.
  if (findings.length === 0) findings.push(...analyzeGraph(graph));
  return findings.length === 0 ? { graph, findings } : { findings };
}

/** Returns the policies of steps without their own: those of the saga, or else the module's. */
export function inheritedPolicies(
  own: Partial<InheritedPolicies>,
  defaults: DefaultPolicies,
  report: Report,
): InheritedPolicies {
  const reader = new OptionReader(report, 'SagaModule ', 'SagaModule has the ');
  const { retry = DEFAULT_POLICIES.retry, compensationRetry = DEFAULT_POLICIES.compensationRetry } = defaults;
  return {
    retry: own.retry ?? retryPolicy.read(retry, 'retry', reader),
    compensationRetry:
      own.compensationRetry ?? retryPolicy.read(compensationRetry, 'compensationRetry', reader),
  };
}
