import type { SagaFinding } from '../../shared/diagnostic.js';
import { canBeUndone, type SagaGraph, type StepNode } from './saga-graph.js';

/**
 * What can never work in a graph, whatever happens at run time. Nothing is found that only may be wrong, since
 * a finding stops an application: predicates may say anything, steps may take any time, and may fail.
 *
 * Three things need no rule. Cycles and unknown names make no graph (see linkSteps). A join `all` can always be
 * satisfied: a step is cut only when nothing that goes on needs it any more. And a savepoint before a pivot
 * still serves the failures up to it, the pivot's own among them.
 */
export function analyzeGraph(graph: SagaGraph): SagaFinding[] {
  const relations = relationsOf(graph);
  return [...graph.steps.values()].flatMap((node) => [
    ...entriesThatNeverWin(node, relations),
    ...stepThatNeverRuns(node, relations),
    ...pivotThatMayLose(node, relations),
    ...compensationThatNeverRuns(node, relations),
    ...savepointThatNothingReturnsTo(node, relations),
    ...replyOfAnother(node, relations),
  ]);
}

interface Relations {
  /** In topological order. */
  readonly nodes: readonly StepNode[];
  /** All that a step waits for, directly or not. */
  readonly ancestors: ReadonlyMap<string, ReadonlySet<string>>;
  /** Steps that a join `any` might cut: each way on from them leads through one. */
  readonly losable: ReadonlySet<string>;
  /** For each join `any`, the steps that can be ready while none of its entries has won. */
  readonly inTime: ReadonlyMap<string, ReadonlySet<string>>;
  /** Steps that are cut before they can begin, in every run. */
  readonly idle: ReadonlySet<string>;
  readonly of: (name: string) => StepNode;
}

function relationsOf(graph: SagaGraph): Relations {
  const nodes = [...graph.steps.values()];
  const ancestors = new Map<string, ReadonlySet<string>>();
  for (const { name, after } of nodes) {
    ancestors.set(name, new Set(after.flatMap((before) => [before, ...ancestors.get(before)!])));
  }
  const losable = new Set<string>();
  const of = (name: string) => graph.steps.get(name)!;
  for (const { name, dependents } of nodes.toReversed()) {
    const loses = dependents.every((dependent) => of(dependent).join === 'any' || losable.has(dependent));
    if (dependents.length > 0 && loses) losable.add(name);
  }
  const inTime = new Map(
    nodes
      .filter(({ join }) => join === 'any')
      .map(({ name, after }) => [
        name,
        readyWithout(new Set(after.filter((entry) => alwaysCompletes(of(entry)))), nodes),
      ]),
  );
  const idle = new Set(nodes.map(({ name }) => name).filter((name) => isIdle(name, nodes, inTime)));
  return { nodes, ancestors, losable, inTime, idle, of };
}

/**
 * Who is an entry of a join `any` and waits for another entry comes too late: the other completed before, and won.
 * Unless that may be skipped: then this one is its substitute.
 */
function entriesThatNeverWin(join: StepNode, relations: Relations): SagaFinding[] {
  const late = lateEntries(join, relations);
  if (late.length === 0) return [];
  const { ancestors, idle, of } = relations;
  const isBefore = (name: string) => late.some((entry) => ancestors.get(entry)!.has(name));
  const won = join.after.filter(
    (entry) => !late.includes(entry) && alwaysCompletes(of(entry)) && isBefore(entry),
  );
  const never = [...idle].filter((name) => late.includes(name) || isBefore(name));
  return findingOf(
    join,
    `${quoted(late)} in its after can never complete first for join 'any', because ${quoted(won, ' or ')} always completes before` +
      (never.length > 0 ? `, so that ${quoted(never)} can never run` : ''),
    `take ${quoted(late)} out of the after, or give ${quoted(won)} a when, if it is to be a substitute`,
  );
}

function lateEntries(join: StepNode, { inTime }: Relations): string[] {
  return join.after.filter((entry) => inTime.get(join.name)?.has(entry) === false);
}

/** Whatever this step leads to has been won by others before it can begin; what is said of a join is not said twice. */
function stepThatNeverRuns(node: StepNode, relations: Relations): SagaFinding[] {
  const { nodes, ancestors, idle } = relations;
  if (!idle.has(node.name) || node.after.some((before) => idle.has(before))) return [];
  const said = nodes.some((join) =>
    lateEntries(join, relations).some((late) => late === node.name || ancestors.get(late)!.has(node.name)),
  );
  if (said) return [];
  return findingOf(
    node,
    "it can never run: each step with join 'any' that waits for it is decided by other steps before, and no other step needs it",
    "remove it from the after of the next step with join 'any', let it begin earlier, or name it in the after of a step that needs it",
  );
}

/**
 * A pivot without a compensation says that it cannot be undone, but in a branch that loses it would have to be.
 * Found only with an example: an entry that may win by itself while the pivot is in progress.
 */
function pivotThatMayLose(pivot: StepNode, relations: Relations): SagaFinding[] {
  if (!pivot.pivot || canBeUndone(pivot) || !relations.losable.has(pivot.name)) return [];
  for (const join of relations.nodes) {
    if (join.join !== 'any' || !relations.ancestors.get(join.name)!.has(pivot.name)) continue;
    const winner = join.after.find(
      (entry) => cutWhen(join, entry, relations.nodes).has(pivot.name) && mayRace(pivot, entry, relations),
    );
    if (winner === undefined) continue;
    return findingOf(
      pivot,
      `it is a pivot, but its branch is cancelled by join 'any' of '${join.name}' if '${winner}' completes first, and it has no compensation`,
      `make '${join.name}' or a step after it the pivot, or name a compensation with compensate`,
    );
  }
  return [];
}

/** Both can be in progress at once: no join that either needs a win for comes in between, nor may predicates exclude it. */
function mayRace(pivot: StepNode, entry: string, { nodes, ancestors, of }: Relations): boolean {
  const [toPivot, toEntry] = [ancestors.get(pivot.name)!, ancestors.get(entry)!];
  const before = new Set([...toPivot, ...toEntry]);
  const decidesMore = nodes.some(
    ({ name, join, after }) =>
      join === 'any' && !before.has(name) && after.some((other) => before.has(other)),
  );
  // A branch for each case, such as card and invoice, is no race: one of the two is skipped.
  const conditional = (name: string, own: ReadonlySet<string>, others: ReadonlySet<string>) =>
    [name, ...own].some((one) => !others.has(one) && of(one).when !== undefined);
  const eitherOr = conditional(pivot.name, toPivot, toEntry) && conditional(entry, toEntry, toPivot);
  return !decidesMore && !eitherOr;
}

/**
 * Once a pivot completed, nothing that comes after it is undone. Except by a savepoint that does not
 * come before the pivot, or because the step's branch lost a join `any`, or where the pivot itself was skipped.
 */
function compensationThatNeverRuns(node: StepNode, relations: Relations): SagaFinding[] {
  const { nodes, ancestors, losable } = relations;
  // What an optional step may have done is compensated wherever it fails.
  if (node.compensate === undefined || losable.has(node.name) || node.optional) return [];
  const before = ancestors.get(node.name)!;
  const savepoints = nodes.filter(({ name, savepoint }) => savepoint && before.has(name));
  const pivots = nodes
    .filter(({ name, pivot, when }) => pivot && !when && before.has(name))
    .filter(({ name }) => savepoints.every((savepoint) => ancestors.get(name)!.has(savepoint.name)))
    .map(({ name }) => name);
  if (readyWithout(new Set(pivots), nodes).has(node.name)) return [];
  return findingOf(
    node,
    `its compensation '${node.compensate}' can never run, because nothing is compensated after the pivot ${quoted(pivots, ' or ')}`,
    `remove compensate, move the step before the pivot, or make the pivot or a step after it a savepoint`,
  );
}

/** Which of the two a signal is for would depend on when it comes. */
function replyOfAnother(node: StepNode, { nodes }: Relations): SagaFinding[] {
  const signal = node.compensationReply?.signal;
  if (signal === undefined) return [];
  const other = nodes.find(
    ({ name, wait, compensationReply }) =>
      wait?.signal === signal || (name !== node.name && compensationReply?.signal === signal),
  );
  if (other === undefined) return [];
  return findingOf(
    node,
    `its compensationReply is the signal '${signal}', which ${other.wait?.signal === signal ? `step '${other.name}' waits for` : `is also the compensationReply of step '${other.name}'`}`,
    'give each a signal of its own',
  );
}

/** Only failures of the steps after it return to a savepoint, those of optional ones apart. */
function savepointThatNothingReturnsTo(node: StepNode, { nodes, ancestors }: Relations): SagaFinding[] {
  const mayFail = ({ name, optional }: StepNode) => !optional && ancestors.get(name)!.has(node.name);
  if (!node.savepoint || nodes.some(mayFail)) return [];
  return findingOf(
    node,
    'it is a savepoint, but no later step can fail and roll back to it',
    'remove savepoint, or name this step in the after of a step that may fail',
  );
}

/**
 * By the time the step is ready, each way on from it ends at a join that is decided, or would be decided by others:
 * a join `any` on the way that completed without this step was decided, and one that did not is cut with what follows.
 */
function isIdle(step: string, nodes: readonly StepNode[], inTime: Relations['inTime']): boolean {
  const over = new Set<string>();
  for (const { name, dependents } of nodes.toReversed()) {
    const ends = dependents.length > 0 && dependents.every((dependent) => over.has(dependent));
    if (name === step) return ends;
    if (ends || inTime.get(name)?.has(step) === false) over.add(name);
  }
  return false;
}

/** The steps that can be ready while none of these is done. */
function readyWithout(missing: ReadonlySet<string>, nodes: readonly StepNode[]): Set<string> {
  const ready = new Set<string>();
  for (const { name, after, join } of nodes) {
    const done = after.filter((before) => ready.has(before) && !missing.has(before));
    const enough = join === 'any' ? done.length > 0 : done.length === after.length;
    if (enough) ready.add(name);
  }
  return ready;
}

/** The steps that nothing needs any more once `winner` has won the join: each way on from them ends there. */
function cutWhen(join: StepNode, winner: string, nodes: readonly StepNode[]): Set<string> {
  const cut = new Set<string>();
  for (const { name, dependents } of nodes.toReversed()) {
    const dead = dependents.every(
      (dependent) => cut.has(dependent) || (dependent === join.name && name !== winner),
    );
    if (dependents.length > 0 && dead) cut.add(name);
  }
  return cut;
}

/** The saga goes past it only once it has completed. */
function alwaysCompletes({ when, optional }: StepNode): boolean {
  return when === undefined && !optional;
}

function findingOf(node: StepNode, problem: string, fix: string): SagaFinding[] {
  return [{ step: node.name, problem, fix, severity: 'error' }];
}

function quoted(names: readonly string[], between = ', '): string {
  return names.map((name) => `'${name}'`).join(between);
}
