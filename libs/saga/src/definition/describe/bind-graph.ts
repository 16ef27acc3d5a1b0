import { type GraphRecord, KIND_NAMES, type StepRecord } from './graph-record.js';
import { childOf } from './saga-description.js';
import { NO_OPTIONS } from '../build/check-step.js';
import { linkedGraph, type UnlinkedStep } from '../graph/link-steps.js';
import { DEFAULT_POLICIES, resolveRetryPolicy } from '../options/retry-policy.js';
import { optionsOfNode } from '../options/step-options.js';
import { approvalSignal, type SagaGraph, type StepNode } from '../graph/saga-graph.js';

/** A saga's class as it is deployed. */
export interface DeployedSaga {
  readonly graph: SagaGraph;
  /** The methods of the class that are no steps: what may undo one. */
  readonly methods: ReadonlySet<string>;
}

/** What the deployed class lacks of a stored step, or does differently in kind; each a clause about the step. */
export interface Gap {
  /** Why it cannot be run. */
  readonly run?: string;
  /** Why it cannot be undone. */
  readonly undo?: string;
}

/** A stored structure with the deployed class's methods and policies in it. */
export interface BoundGraph {
  readonly graph: SagaGraph;
  /** By step. An instance that may still need what one of them says must not be run. */
  readonly gaps: ReadonlyMap<string, Gap>;
}

/** How many times a savepoint is returned to if the deployed class has none there. */
const DEFAULT_SAVEPOINT = { attempts: 2 };

/** Binds by name: the structure is the stored one, whatever is called and how often is the deployed class's. */
export function bindGraph(record: GraphRecord, deployed: DeployedSaga): BoundGraph {
  const graph = linkedGraph(
    deployed.graph,
    record.steps.map((step) => bindStep(step, deployed.graph)),
  );
  const gaps = new Map<string, Gap>();
  for (const step of record.steps) {
    const gap = gapOf(step, deployed);
    if (gap) gaps.set(step.name, gap);
  }
  return { graph, gaps };
}

function bindStep(step: StepRecord, { steps }: SagaGraph): UnlinkedStep {
  const { compensate } = step;
  const own = steps.get(step.name);
  // A step that is gone is only undone: as the step that took its compensation over is, if one has.
  const heir = [...steps.values()].find((node) => compensate !== undefined && node.compensate === compensate);
  return {
    ...(own ?? policiesOfGone(step, heir)),
    name: step.name,
    kind: step.kind,
    child: step.kind === 'sub-saga' ? own?.child : undefined,
    remote: step.kind === 'remote' ? { name: step.handler!, version: own?.remote?.version ?? 1 } : undefined,
    wait: waitOf(step, own),
    after: step.after,
    join: step.join ?? 'all',
    compensate,
    // As for a wait: its signal is structure, its timeout is not.
    compensationReply:
      step.reply === undefined ? undefined : { ...(own ?? heir)?.compensationReply, signal: step.reply },
    // The structure is that of a fan-out, also where the class has none any more; then it is never asked.
    forEach: step.forEach && (own?.forEach ?? (() => [])),
    savepoint: step.savepoint && (own?.savepoint ?? DEFAULT_SAVEPOINT),
    pivot: step.pivot ?? false,
  };
}

/** What is waited for is structure, for how long is not. */
function waitOf({ kind, name, signal }: StepRecord, own: StepNode | undefined): StepNode['wait'] {
  if (kind !== 'signal' && kind !== 'approval') return undefined;
  return { ...own?.wait, signal: kind === 'approval' ? approvalSignal(name) : signal! };
}

function policiesOfGone(step: StepRecord, heir: StepNode | undefined) {
  return {
    ...optionsOfNode(NO_OPTIONS),
    retry: heir?.retry ?? resolveRetryPolicy(DEFAULT_POLICIES.retry),
    compensationRetry: heir?.compensationRetry ?? resolveRetryPolicy(DEFAULT_POLICIES.compensationRetry),
    transactional: heir?.transactional ?? step.transactional ?? false,
    idempotent: heir?.idempotent ?? true,
    compensateOnFailure: heir?.compensateOnFailure ?? false,
    itemsAtOnce: heir?.itemsAtOnce ?? 1,
    optional: heir?.optional ?? false,
    compensationTimeout: heir?.compensationTimeout,
  };
}

function gapOf(step: StepRecord, { graph, methods }: DeployedSaga): Gap | undefined {
  const own = graph.steps.get(step.name);
  const run = own
    ? changeInKind(step, own)
    : methods.has(step.name)
      ? 'is not a step any more'
      : 'was removed';
  const undo = undoGapOf(step, own, graph, methods);
  return run === undefined && undo === undefined ? undefined : { run, undo };
}

function changeInKind(step: StepRecord, own: StepNode): string | undefined {
  if (own.kind !== step.kind) return `is now ${KIND_NAMES[own.kind]}, and was ${KIND_NAMES[step.kind]}`;
  if (own.remote?.name !== step.handler)
    return `now calls handler '${own.remote?.name}' instead of '${step.handler}'`;
  if (childOf(own) !== step.child) return `now runs saga '${childOf(own)}' instead of '${step.child}'`;
  if ((own.forEach !== undefined) === (step.forEach ?? false)) return undefined;
  return own.forEach ? 'runs once per item now' : 'does not run once per item any more';
}

function undoGapOf(
  step: StepRecord,
  own: StepNode | undefined,
  { steps }: SagaGraph,
  methods: ReadonlySet<string>,
): string | undefined {
  const { compensate } = step;
  const changed = own && changeInKind(step, own);
  if (step.kind === 'sub-saga' && (!own || changed))
    return `is not compensated by its saga '${step.child}' any more`;
  if (compensate === undefined) return undefined;
  if (steps.has(compensate)) return `has the compensation '${compensate}', which is a step now`;
  if (!methods.has(compensate)) return `has the compensation '${compensate}', and this method was removed`;
  // The method is that of a step of another shape now, and expects to be called as such.
  return changed && own.compensate === compensate
    ? `has the compensation '${compensate}', but the step ${changed}`
    : undefined;
}
