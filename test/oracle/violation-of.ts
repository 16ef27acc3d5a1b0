import { aftermath } from './end-state-checks.js';
import { judge, type Violation } from './graph-oracle.js';
import type { Play } from './model-entries.js';
import type { RandomGraph } from './random-graph.js';
import { worldViolationOf } from './world-oracle.js';

/** The first promise that a run breaks: of the rules, of the world outside, or of the end state. */
export function violationOf(saga: RandomGraph, play: Play): Violation | undefined {
  return worldViolationOf(saga, play) ?? judge(saga, play) ?? aftermath(saga, play);
}
