import { type GraphRecord, KIND_NAMES, type StepRecord } from '../definition/describe/graph-record.js';
import { childOf } from '../definition/describe/saga-description.js';
import { type SagaGraph, type StepNode, stepOfKey } from '../definition/graph/saga-graph.js';
import { isPassed, isRace, isReady } from './predicates.js';
import { isTerminal, type SagaState, type StepState, stepState } from './saga-state.js';
import { hasBegun, standing } from './missing-code.js';

/**
 * Why a saga cannot go on by another version's graph from where it stands: a sentence without its end. Undefined: it
 * can. It can if all that happened to it would have been possible there, in the same way, and can be undone there.
 * Pure; a saga with anything in progress is not asked about.
 * @param from the graph that it goes by
 * @param to the version that it would be moved to
 */
export function obstacleToMove(from: GraphRecord, to: SagaGraph, state: SagaState): string | undefined {
  if (isTerminal(state.status)) return 'it has ended';
  if (state.status === 'compensating' || state.heldPhase === 'compensating')
    return 'it compensates, and ends in the version that it began with';
  if (state.pendingRollback !== undefined)
    return 'a rollback waits for the outcome of its pivot, in the version that it began with';
  const version = `version ${to.version}`;
  const begun = new Set([...state.steps].filter(([, step]) => hasBegun(step)).map(([key]) => stepOfKey(key)));
  for (const name of begun) {
    const obstacle = obstacleOfStep(name, { from, to, state, version });
    if (obstacle !== undefined) return obstacle;
  }
  return obstacleOfWaits(to, state, version) ?? obstacleOfRaces(from, to, state, begun);
}

interface Move {
  readonly from: GraphRecord;
  readonly to: SagaGraph;
  readonly state: SagaState;
  /** As sentences name it. */
  readonly version: string;
}

/** Checks a step that has begun or is done. */
function obstacleOfStep(name: string, { from, to, state, version }: Move): string | undefined {
  const [before, after, step] = [recordIn(from, name), to.steps.get(name), stepState(state, name)];
  const subject = `step '${name}' ${standing(state, name)}, and`;
  if (!before) return `${subject} the graph that it uses has no step of that name`;
  if (!after) return `${subject} ${version} has no step of that name`;
  const kind = changeOfKind(before, after);
  if (kind !== undefined) return `${subject} in ${version} it ${kind}`;
  if (step.status === 'running' && step.items === undefined)
    return `step '${name}' was running when its worker was lost, and a worker with the version that it began with has to determine the outcome`;
  if (before.compensate !== undefined && after.compensate === undefined && tookEffect(step))
    return `${subject} has the compensation '${before.compensate}', and in ${version} it has none`;
  if (before.pivot && !after.pivot && tookEffect(step))
    return `${subject} is a pivot, and in ${version} it is not`;
  if (step.pruned || isReady(state, after, step)) return undefined;
  const missing = after.after
    .filter((other) => !isPassed(stepState(state, other)))
    .map((other) => `'${other}'`);
  return `${subject} in ${version} it comes after ${missing.join(' and ')}, which is not completed`;
}

function changeOfKind(before: StepRecord, after: StepNode): string | undefined {
  if (before.kind !== after.kind) return `is ${KIND_NAMES[after.kind]}`;
  if (before.handler !== after.remote?.name)
    return `calls handler '${after.remote?.name}' instead of '${before.handler}'`;
  const child = childOf(after);
  if (before.child !== child) return `runs saga '${child}' instead of '${before.child}'`;
  if ((before.forEach ?? false) === (after.forEach !== undefined)) return undefined;
  return after.forEach ? 'runs once per item' : 'does not run once per item';
}

/** Returns the wait whose signal may be in progress. */
function obstacleOfWaits(to: SagaGraph, state: SagaState, version: string): string | undefined {
  for (const [name, { wait }] of state.steps) {
    const signal = to.steps.get(name)?.wait?.signal;
    if (wait !== undefined && wait.signal !== signal)
      return `step '${name}' waits for signal '${wait.signal}', and in ${version} it ${signal === undefined ? 'waits for none' : `waits for '${signal}'`}`;
  }
  return undefined;
}

/** What was won, and what has lost for it, follows from the edges: where any of it has begun they must be the same. */
function obstacleOfRaces(
  from: GraphRecord,
  to: SagaGraph,
  state: SagaState,
  begun: ReadonlySet<string>,
): string | undefined {
  for (const name of new Set([...from.steps.map((step) => step.name), ...to.steps.keys()])) {
    const [before, after] = [recordIn(from, name), to.steps.get(name)];
    const isOne = (before?.join === 'any' && before.after.length > 1) || (after && isRace(after));
    if (!isOne || sameEdges(before, after)) continue;
    const entry = [...(before?.after ?? []), ...(after?.after ?? []), name].find((other) => begun.has(other));
    if (entry !== undefined)
      return `step '${entry}' ${standing(state, entry)}, and the steps that '${name}' waits for with join 'any' differ in version ${to.version}`;
  }
  for (const [key, { pruned }] of state.steps) {
    if (!pruned) continue;
    const before = from.steps.filter(({ after }) => after.includes(key)).map(({ name }) => name);
    if (before.sort().join() !== [...(to.steps.get(key)?.dependents ?? before)].sort().join())
      return `step '${key}' was cancelled by join 'any', and version ${to.version} has other steps after it`;
  }
  return undefined;
}

function sameEdges(before: StepRecord | undefined, after: StepNode | undefined): boolean {
  if (!before || !after) return false;
  return (before.join ?? 'all') === after.join && before.after.join() === [...after.after].sort().join();
}

function recordIn({ steps }: GraphRecord, name: string): StepRecord | undefined {
  return steps.find((step) => step.name === name);
}

/** Or may have. */
function tookEffect({ status, unknown, items }: StepState): boolean {
  return status === 'completed' || unknown || items !== undefined;
}
