import { judge } from '../oracle/graph-oracle.js';
import type { RandomGraph } from '../oracle/random-graph.js';
import { worldViolationOf } from '../oracle/world-oracle.js';
import type { OperatedSaga } from './operated-saga.js';

/** What the oracles, who know nothing of the machine, say against what really happened; undefined: nothing. */
export function finalChecks(saga: RandomGraph, played: OperatedSaga, seed: number): string | undefined {
  const violation = worldViolationOf(saga, played) ?? judge(saga, played);
  const unlike = played.unlikePreview();
  if (!violation && unlike === undefined) return undefined;
  const what = violation ? `not kept: ${violation.promise}: ${violation.what}` : unlike;
  return `${what}\n${played.story(violation?.at)}\nseed ${seed}`;
}
