import type { SagaGraph, StepNode } from './graph/saga-graph.js';

type Status = 'pending' | 'running' | 'completed' | 'skipped' | 'failed';

interface Moment {
  readonly status: ReadonlyMap<string, Status>;
  /** Of each join any that was won, by whom. */
  readonly winners: ReadonlyMap<string, string>;
  /** Cut by a failure that the saga tolerated. */
  readonly marked: ReadonlySet<string>;
}

/** What happens in some run of a graph that only goes forward. */
export interface Runs {
  readonly begun: ReadonlySet<string>;
  /** `join<entry`: the entry won the join any. */
  readonly wins: ReadonlySet<string>;
  readonly cutAfterBegun: ReadonlySet<string>;
  /** Steps that began while no pivot was completed and not cut. */
  readonly begunWithoutPivot: ReadonlySet<string>;
  /** Ends in which a step that is not cut was not done. */
  readonly stuck: readonly string[];
}

/**
 * Tries every order in which the steps of a small graph can begin, complete and fail, and every answer of the
 * predicates, by the rules alone and as plainly as they can be written: what the analysis is tested against.
 */
export function allRunsOf(graph: SagaGraph): Runs {
  const nodes = [...graph.steps.values()];
  const runs = {
    begun: new Set<string>(),
    wins: new Set<string>(),
    cutAfterBegun: new Set<string>(),
    begunWithoutPivot: new Set<string>(),
    stuck: [] as string[],
  };
  const seen = new Set<string>();

  const visit = (moment: Moment): void => {
    const { status, winners, marked } = moment;
    const key = JSON.stringify([[...status.values()], [...winners].sort(), [...marked].sort()]);
    if (seen.has(key)) return;
    seen.add(key);
    const cut = cutBy(nodes, moment);
    for (const name of cut) {
      if (['running', 'completed'].includes(status.get(name)!)) runs.cutAfterBegun.add(name);
    }

    let moves = 0;
    const move = ({ name }: StepNode, next: Status, more: Partial<Moment> = {}): void => {
      moves++;
      visit({ ...moment, ...more, status: new Map(status).set(name, next) });
    };
    const complete = (node: StepNode): void => {
      const won = new Map(winners);
      for (const dependent of cut.has(node.name) ? [] : node.dependents) {
        if (graph.steps.get(dependent)!.join !== 'any' || cut.has(dependent) || won.has(dependent)) continue;
        won.set(dependent, node.name);
        runs.wins.add(`${dependent}<${node.name}`);
      }
      move(node, 'completed', { winners: won });
    };
    const fail = (node: StepNode): void => {
      if (cut.has(node.name)) return move(node, 'failed');
      const more = marksOf(node, nodes, cut);
      // Otherwise the saga turns back, and nothing begins any more.
      if (more) move(node, 'failed', { marked: new Set([...marked, ...more]) });
    };

    for (const node of nodes) {
      const current = status.get(node.name);
      if (current === 'running') {
        complete(node);
        fail(node);
      }
      if (current !== 'pending' || cut.has(node.name) || !isReady(node, status, cut)) continue;
      if (node.when) move(node, 'skipped');
      runs.begun.add(node.name);
      const passed = nodes.some(
        ({ name, pivot }) => pivot && status.get(name) === 'completed' && !cut.has(name),
      );
      if (!passed) runs.begunWithoutPivot.add(node.name);
      move(node, 'running');
    }
    if (moves > 0) return;
    for (const { name } of nodes) {
      if (!cut.has(name) && status.get(name) === 'pending') runs.stuck.push(`${name} in ${key}`);
    }
  };

  visit({
    status: new Map(nodes.map(({ name }) => [name, 'pending'])),
    winners: new Map(),
    marked: new Set(),
  });
  return runs;
}

/** What a failed step takes with it, unless that is the end of something: then the failure is the saga's. */
function marksOf(failed: StepNode, nodes: readonly StepNode[], cut: Set<string>): Set<string> | undefined {
  const marks = new Set([failed.name]);
  const lost = (name: string) => marks.has(name) || cut.has(name);
  for (const { name, join, after } of nodes) {
    if (after.length > 0 && (join === 'any' ? after.every(lost) : after.some(lost))) marks.add(name);
  }
  const ends = nodes.some(({ name, dependents }) => marks.has(name) && dependents.length === 0);
  return ends ? undefined : marks;
}

function isReady(node: StepNode, status: Moment['status'], cut: Set<string>): boolean {
  const states = node.after.map((name) => ({ state: status.get(name), cut: cut.has(name) }));
  if (node.join === 'all') return states.every(({ state }) => state === 'completed' || state === 'skipped');
  if (states.some(({ state, cut: lost }) => state === 'completed' && !lost)) return true;
  const left = states.filter(({ cut: lost }) => !lost);
  return left.length > 0 && left.every(({ state }) => state === 'skipped');
}

/** Besides what failures cut: a step with dependents, all of whose edges are dead; until nothing changes. */
function cutBy(nodes: readonly StepNode[], { winners, marked }: Moment): Set<string> {
  const cut = new Set(marked);
  for (let before = -1; before < cut.size;) {
    before = cut.size;
    for (const { name, dependents } of nodes) {
      const isDead = (dependent: string) =>
        cut.has(dependent) || (winners.has(dependent) && winners.get(dependent) !== name);
      if (dependents.length > 0 && dependents.every(isDead)) cut.add(name);
    }
  }
  return cut;
}
