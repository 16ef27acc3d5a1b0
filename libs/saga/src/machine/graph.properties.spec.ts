import fc from 'fast-check';
import { LASTING } from '../../../../test/oracle/end-state-checks.js';
import { RULED, type Violation } from '../../../../test/oracle/graph-oracle.js';
import { describeEntry } from '../../../../test/oracle/describe-run.js';
import type { Play } from '../../../../test/oracle/model-entries.js';
import { playGraph } from '../../../../test/oracle/run-model.js';
import { describeGraph, type RandomGraph, randomGraphs } from '../../../../test/oracle/random-graph.js';
import { violationOf } from '../../../../test/oracle/violation-of.js';
import { WORLDLY } from '../../../../test/oracle/world-oracle.js';

/** More of them: GRAPH_RUNS=100000; others: GRAPH_SEED, with the seed of a message the same again. */
const RUNS = Number(process.env.GRAPH_RUNS ?? 3_000);
const SEED = Number(process.env.GRAPH_SEED ?? 1);

const broken = new Map<string, string>();

beforeAll(() => {
  // One pass over all sagas; another only when a promise is found broken, to look for the others.
  for (;;) {
    const result = fc.check(
      fc.property(randomGraphs, (saga) => {
        const violation = violationOf(saga, playGraph(saga));
        return violation === undefined || broken.has(violation.promise);
      }),
      { numRuns: RUNS, seed: SEED },
    );
    if (!result.failed) break;
    const [saga] = result.counterexample!;
    const play = playGraph(saga);
    const violation = violationOf(saga, play)!;
    broken.set(violation.promise, report(saga, play, violation, result.seed));
  }
}, 3_600_000);

describe('every saga of any graph', () => {
  it.each([...RULED, ...WORLDLY, ...LASTING])('%s', (promise) => {
    expect(broken.get(promise) ?? 'kept').toBe('kept');
  });
});

function report(saga: RandomGraph, { entries, end }: Play, { what, at }: Violation, seed: number): string {
  return [
    what,
    '',
    ...describeGraph(saga.graph),
    '',
    ...entries.slice(0, at + 1).flatMap(describeEntry),
    `in the end: ${end.status}`,
    `seed ${seed}`,
  ].join('\n');
}
