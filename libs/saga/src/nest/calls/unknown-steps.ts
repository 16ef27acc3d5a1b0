import {
  indexOfKey,
  itemKey,
  type SagaGraph,
  sagaLabel,
  stepOfKey,
} from '../../definition/graph/saga-graph.js';
import type { OperatorCall } from '../../engine/operate/operator-calls.js';
import { factsOf } from '../../engine/ports/call-table.js';
import type { SagaVersion } from '../../engine/ports/graph-store.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import { SagaValidationError } from '../../errors.js';
import { stepState } from '../../machine/saga-state.js';
import { suggestion } from '../../shared/nearest-name.js';
import { shown } from '../../shared/shown-value.js';
import type { ServiceParts } from '../assemble-engine.js';

/** A version of a saga, and the names of its steps in all revisions of its graph. */
interface StepsOfVersion extends SagaVersion {
  readonly steps: readonly string[];
}

/** Returns what is known of a saga of this name, here and in other applications. Empty: it was never deployed. */
export async function versionsOf(
  { registry, graphs }: Pick<ServiceParts, 'registry' | 'graphs'>,
  name: string,
): Promise<StepsOfVersion[]> {
  const own = registry.all.filter(({ graph }) => graph.name === name);
  const stored = typeof name === 'string' ? await graphs.stored([{ name }]) : [];
  return [
    ...own.map(({ graph: { version, steps } }) => ({ name, version, steps: [...steps.keys()] })),
    ...stored.map(({ version, graph }) => ({ name, version, steps: graph.steps.map((one) => one.name) })),
  ];
}

/** The error of a call on a step that does not exist. @param owner what does not have it */
export function noSuchStep(
  call: string,
  owner: string,
  step: unknown,
  steps: readonly string[],
): SagaValidationError {
  const all = `Its steps: ${steps.join(', ')}.`;
  const hint = typeof step === 'string' ? suggestion(step, steps, all) : all;
  return new SagaValidationError(`${call}(): ${owner} has no step ${shown(step)}. ${hint}`);
}

/** A call names a step, or an item, that its saga does not have. */
export interface UnknownStep {
  readonly saga: StoredSaga;
  readonly graph: SagaGraph;
  readonly key: string;
}

/** Returns the step, or item, that a call names and that its saga does not have. Undefined: there is none. */
export function unknownStep(
  saga: StoredSaga,
  graph: SagaGraph | undefined,
  call: OperatorCall,
): UnknownStep | undefined {
  if (!graph) return undefined;
  for (const [option, { type }] of Object.entries(factsOf(call.action).options)) {
    const key = type === 'step' ? call[option as 'step' | 'unlessBegun'] : undefined;
    if (key !== undefined && !isKnown(saga, graph, key)) return { saga, graph, key };
  }
  return undefined;
}

function isKnown({ state }: StoredSaga, graph: SagaGraph, key: string): boolean {
  if (graph.steps.has(key) || state.steps.has(key)) return true;
  const [step, index] = [stepOfKey(key), indexOfKey(key)];
  if (index === undefined || key !== itemKey(step, index) || !graph.steps.get(step)?.forEach) return false;
  // Until the step begins, its items are not known.
  const { length = Infinity } = stepState(state, step).items ?? {};
  return Number.isInteger(index) && index >= 0 && index < length;
}

/** The error of a call on a step that its saga does not have. Another version of the saga may have it. */
export async function unknownStepError(
  parts: Pick<ServiceParts, 'registry' | 'graphs'>,
  { action }: OperatorCall,
  { saga, graph, key }: UnknownStep,
): Promise<SagaValidationError> {
  const label = sagaLabel(graph);
  const step = stepOfKey(key);
  if (graph.steps.has(step)) {
    const { length = 0 } = stepState(saga.state, step).items ?? {};
    const items = length > 0 ? `${itemKey(step, 0)} to ${itemKey(step, length - 1)}` : 'none';
    return new SagaValidationError(
      `${action}(): ${label} has no item ${shown(key)}. The items of ${step}: ${items}.`,
    );
  }
  const others = (await versionsOf(parts, saga.name)).filter(({ steps }) => steps.includes(step));
  if (others.length === 0) return noSuchStep(action, label, key, [...graph.steps.keys()]);
  const names = [...new Set(others.map(sagaLabel))].join(', ');
  return new SagaValidationError(
    `${action}(): saga ${saga.id} is ${label}, which has no step ${shown(key)}. Versions that have it: ${names}.`,
  );
}
