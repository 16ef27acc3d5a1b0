import type { SagaSnapshot } from 'nestjs-durable-saga';
import type { HistoryEntry, RollbackPlan, RollbackPlanStep } from 'nestjs-durable-saga/operators';
import {
  type SagaGraph,
  childOf,
  handlerSaga,
  mapPayloads,
  redact,
  redactedInputPaths,
} from 'nestjs-durable-saga/internal';

/** The graphs that this process has of a name, in all versions. What is not to be seen, only their classes say. */
export type GraphFinder = (name: string) => readonly SagaGraph[];

/** Are a saga's payloads shown? */
export type PayloadsShown = { readonly shown: true } | { readonly shown: false; readonly why: string };

/** Payloads are shown only by who knows what of them is not to be seen. */
export function payloadsShown(graph: SagaGraph | undefined, saga: string, version: number): PayloadsShown {
  return graph
    ? { shown: true }
    : {
        shown: false,
        why:
          `The payloads are hidden: this process does not have ${saga}@${version}, and therefore cannot redact its fields. ` +
          `Open the dashboard of a process that has it.`,
      };
}

/** A saga as it may be seen; of one that is not known here, without its payloads. */
export function redactedSnapshot(
  snapshot: SagaSnapshot,
  graph: SagaGraph | undefined,
  find: GraphFinder,
): SagaSnapshot {
  return mapPayloads(
    snapshot,
    (input) => (graph ? redactedInput(input, graph) : undefined),
    (result, step) => (graph ? redactedResult(result, step, graph, find) : undefined),
  );
}

/** What cancelling would do, as it may be seen. */
export function redactedPlan(
  plan: RollbackPlan,
  graph: SagaGraph | undefined,
  find: GraphFinder,
): RollbackPlan {
  return { ...plan, compensations: plan.compensations.map((step) => redactedPlanStep(step, graph, find)) };
}

/** What operators did, as it may be seen; of a saga that is not known here, without what their calls were given. */
export function redactedHistory(
  history: readonly HistoryEntry[],
  graph: SagaGraph | undefined,
  find: GraphFinder,
): HistoryEntry[] {
  return history.map(({ input, result, ...entry }) => ({
    ...entry,
    ...(graph && input !== undefined && { input: redactedInput(input, graph) }),
    ...(graph && result !== undefined && { result: redactedResult(result, entry.step!, graph, find) }),
  }));
}

export function redactedInput(input: unknown, graph: SagaGraph): unknown {
  return redact(input, redactedInputPaths(graph));
}

/** @param key the step's name, or that of one of its items */
export function redactedResult(result: unknown, key: string, graph: SagaGraph, find: GraphFinder): unknown {
  const isItem = key.endsWith(']');
  const node = graph.steps.get(isItem ? key.slice(0, key.indexOf('[')) : key);
  const own = (value: unknown): unknown => redact(value, graph.redact ?? []);
  if (node?.forEach && !isItem && Array.isArray(result)) return result.map(own);
  const child = node && childOf(node);
  if (child !== undefined) return own(redactedResults(result, find(child), find));
  const handlers = node?.remote ? find(handlerSaga(node.remote.name)) : [];
  return own(handlers.reduce((value, handler) => redact(value, handler.redact ?? []), result));
}

/** The results of a child's steps, each as the child would show it; in which version it ran is not known here. */
function redactedResults(results: unknown, versions: readonly SagaGraph[], find: GraphFinder): unknown {
  if (versions.length === 0 || !isRecord(results)) return undefined;
  return Object.fromEntries(
    Object.entries(results).map(([step, result]) => [
      step,
      versions.reduce<unknown>((value, graph) => redactedResult(value, step, graph, find), result),
    ]),
  );
}

function redactedPlanStep(
  step: RollbackPlanStep,
  graph: SagaGraph | undefined,
  find: GraphFinder,
): RollbackPlanStep {
  const { step: name, index, subSaga } = step;
  const key = index === undefined ? name : `${name}[${index}]`;
  const node = graph?.steps.get(name);
  const child = node && childOf(node);
  return {
    ...step,
    result: graph ? redactedResult(step.result, key, graph, find) : undefined,
    ...(step.item !== undefined && { item: graph ? redactedItem(step.item, graph) : undefined }),
    ...(subSaga && {
      subSaga: {
        ...subSaga,
        ...redactedPlan(subSaga, child === undefined ? undefined : find(child).at(-1), find),
      },
    }),
  };
}

/** What a step runs over is mostly a part of the input: the end of a path may lead to a field of it as well. */
function redactedItem(item: unknown, { redact: paths = [] }: SagaGraph): unknown {
  const ends = paths.flatMap((path) => {
    const keys = path.split('.');
    return keys.map((_, n) => keys.slice(n).join('.'));
  });
  return redact(item, ends);
}

function isRecord(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
