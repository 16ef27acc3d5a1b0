import type { GraphRecord, StepRecord } from './graph/graph-record.js';

/** A stored graph in short, for tests: each step waits for the one before, unless it says otherwise. */
export function recordWith(steps: Record<string, Partial<StepRecord>>): GraphRecord {
  const names = Object.keys(steps);
  return {
    steps: names.map((name, index): StepRecord => ({
      ...{ name, kind: 'step', after: names.slice(Math.max(0, index - 1), index) },
      ...steps[name],
    })),
  };
}
