import type { Type } from '@nestjs/common';
import { SagaDefinitionError } from '../../errors.js';
import { analyzeGraph } from '../graph/analyze-graph.js';
import { type DefaultPolicies, inheritedPolicies } from './build-saga-graph.js';
import { NO_OPTIONS, nodeOfOptions } from './check-step.js';
import { checkHandler, handlerSaga } from '../options/handler-name.js';
import { linkedGraph } from '../graph/link-steps.js';
import { OptionReader } from '../options/option-reader.js';
import { type Report, textOfDiagnostic, textOfProblems } from '../../shared/diagnostic.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import { type HandlerMetadata, SagaMetadata } from '../decorators/saga-metadata.js';
import { methodsOf, type SagaMethods } from '../decorators/saga-methods.js';
import { STEP_HANDLER_OPTIONS } from '../options/step-options.js';

/** The saga of one step in which a handler runs. The step has the handler's name. */
export interface HandlerGraph {
  readonly graph: SagaGraph;
  /** The handler's own. */
  readonly method: string;
}

/**
 * The graphs of a class's step handlers.
 * @throws SagaDefinitionError naming the class and everything that is wrong with them, each with its fix
 */
export function buildHandlerGraphs(type: Type, defaults: DefaultPolicies = {}): HandlerGraph[] {
  const problems: string[] = [];
  const reportOf =
    ({ name, method }: HandlerMetadata): Report =>
    (problem, fix) =>
      problems.push(`handler '${name}' (${method}): ${textOfDiagnostic({ problem, fix })}`);
  for (const handler of SagaMetadata.staticHandlersOf(type))
    reportOf(handler)('it is static, but handlers must be instance methods', 'remove static');
  const handlers = SagaMetadata.handlersOf(type);
  const methods = methodsBeside(handlers, methodsOf(type));
  const graphs = handlers.map((handler) => ({
    graph: readHandler(handler, methods, defaults, reportOf(handler)),
    method: handler.method,
  }));
  if (problems.length > 0)
    throw new SagaDefinitionError(`${type.name || 'An unnamed class'}: ${textOfProblems(problems)}`);
  return graphs;
}

function readHandler(
  { method, name, options: given }: HandlerMetadata,
  methods: SagaMethods,
  defaults: DefaultPolicies,
  report: Report,
): SagaGraph {
  const reader = new OptionReader(report, '', '@StepHandler has the ');
  const { version, limit, redact, ...own } = reader.read(STEP_HANDLER_OPTIONS, given);
  checkHandler('@StepHandler', name, report);
  const node = nodeOfOptions(
    method,
    { ...NO_OPTIONS, ...own },
    methods,
    inheritedPolicies({}, defaults, report),
    report,
  );
  if (name === node.compensate || name === node.probe)
    report(`it names a method that is also called '${name}'`, 'give the method another name');
  const saga = {
    name: handlerSaga(name),
    version,
    onFailure: 'compensate',
    limit: limit === undefined ? undefined : { count: limit },
    redact,
  } as const;
  const graph = linkedGraph(saga, [{ ...node, name }]);
  for (const { problem, fix } of analyzeGraph(graph)) report(problem, fix);
  return graph;
}

/** To a handler the others are what steps are to a step: nothing that could undo it. */
function methodsBeside(handlers: readonly HandlerMetadata[], methods: SagaMethods): SagaMethods {
  const own = handlers.map(({ method }) => method);
  return {
    ...methods,
    steps: [...methods.steps, ...own],
    plain: methods.plain.filter((name) => !own.includes(name)),
    compensations: handlers
      .map(({ options: { compensate } }) => compensate)
      .filter((name) => name !== undefined),
  };
}
