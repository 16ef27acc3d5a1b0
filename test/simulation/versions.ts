import type { UnlinkedStep } from '../../libs/saga/src/definition/graph/link-steps.js';
import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../fixtures/graph-of.js';
import { mended } from '../graphs/definable-graph.js';
import type { Dice, Rng } from './rng.js';

/** The name of all second versions, to be left out of scenarios that are older. */
export const VERSIONS = 'versions';

/** Which versions of the sagas a process has. */
export type Deployed = 'both' | 'first' | 'second';

/**
 * Sometimes a class has a second version: a step less, a step more, or both. Its limits are those of the first one.
 * @param steps of the first version
 */
export function secondVersion(
  dice: Dice,
  name: string,
  steps: readonly UnlinkedStep[],
  options: Partial<SagaGraph>,
): SagaGraph | undefined {
  const [exists, hasLess, hasMore] = [dice.happens(0.25), dice.happens(0.6), dice.happens(0.6)];
  if (!exists || steps.length === 0) return undefined;
  const less = hasLess && steps.length > 1 ? dice.among(steps).name : undefined;
  const kept = steps
    .filter((step) => step.name !== less)
    .map((step) => {
      const after = step.after.filter((before) => before !== less);
      return { ...step, after, join: after.length > 1 ? step.join : 'all' } as const;
    });
  const more = stepOf('more', { after: dice.happens(0.7) ? [kept.at(-1)!.name] : [] });
  const graph = graphOf(...kept, ...(hasMore ? [more] : []));
  return { ...mended({ ...graph, ...options }), ...options, name, version: 2 };
}

/** One worker has both versions, so that no saga waits for ever. So have the processes that start sagas. */
export function deployedIn(chance: Rng, number: number, workers: number): Deployed {
  const dice = chance.for(VERSIONS, 'process', number);
  return number === 0 || number >= workers ? 'both' : dice.among(['both', 'first', 'second']);
}

/** What a process has of a saga, the newest last. */
export function versionsIn(
  deployed: Deployed,
  { graph, second }: { readonly graph: SagaGraph; readonly second?: SagaGraph },
): readonly [SagaGraph, ...SagaGraph[]] {
  if (!second || deployed === 'first') return [graph];
  return deployed === 'second' ? [second] : [graph, second];
}
