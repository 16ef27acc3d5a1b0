import fc from 'fast-check';
import { describeEntry } from './describe-run.js';
import { LASTING } from './end-state-checks.js';
import { RULED, type Violation } from './graph-oracle.js';
import type { Play } from './model-entries.js';
import { describeGraph, type RandomGraph, randomGraphs } from './random-graph.js';
import { playGraph } from './run-model.js';
import { violationOf } from './violation-of.js';
import { WORLDLY } from './world-oracle.js';

interface Played {
  readonly runs: number;
  /** The seed of a message plays the same graphs again. */
  readonly seed: number;
  readonly onPlay?: (saga: RandomGraph, play: Play) => void;
}

/** Tests all promises with so many random graphs. */
export function describePromises({ runs, seed, onPlay }: Played): void {
  const broken = new Map<string, string>();

  beforeAll(() => {
    // One pass over all sagas; another only when a promise is found broken, to look for the others.
    for (;;) {
      const result = fc.check(
        fc.property(randomGraphs, (saga) => {
          const play = playGraph(saga);
          onPlay?.(saga, play);
          const violation = violationOf(saga, play);
          return violation === undefined || broken.has(violation.promise);
        }),
        { numRuns: runs, seed },
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
}

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
