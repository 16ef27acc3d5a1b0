import { judge } from '../../libs/saga/src/machine/graph-oracle.contract.js';
import type { RandomGraph } from '../../libs/saga/src/machine/random-graph.contract.js';
import { witness } from '../../libs/saga/src/machine/world-oracle.contract.js';
import type { OperatedSaga } from './operated-saga.js';

/** What the oracles, who know nothing of the machine, say against what really happened; undefined: nothing. */
export function verdictOn(saga: RandomGraph, played: OperatedSaga, seed: number): string | undefined {
  const violation = witness(saga, played) ?? judge(saga, played);
  const unlike = played.unlikePreview();
  if (!violation && unlike === undefined) return undefined;
  const what = violation ? `not kept: ${violation.promise}: ${violation.what}` : unlike;
  return `${what}\n${played.story(violation?.at)}\nseed ${seed}`;
}
