import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { Relations } from '../oracle/model-state.js';
import { INITIAL, type SagaState, type StepState } from '../../libs/saga/src/machine/saga-state.js';

/** What the checker has seen of one saga: at the database, at its methods, and at those who operate it. */
export class SagaRecord {
  readonly relations: Relations;
  state: SagaState = INITIAL;
  epoch = 0;
  /** The number of the last one. */
  checkpoints = 0;
  /** Undefined: no worker holds it. */
  holder: string | undefined;
  /** By the timeline. */
  leaseEnds = 0;
  /** Those whom a claim of another has overtaken. */
  readonly overtaken = new Set<string>();
  /** Workers may have been lost: more may have begun than anybody knows. */
  wasTakenOver = false;
  /** `DatabaseTime.passed` at its start. */
  storedAt = 0;
  /** Milliseconds. Undefined: there is none. */
  delay: number | undefined;
  timeout: number | undefined;
  /** The number of operators' actions on it. What follows is their decision. */
  operated = 0;
  cancelAccepted = false;
  /** Steps that were completed manually: keys and rounds. */
  readonly byHand = new Set<string>();
  /** Results by key and round, as they were recorded; undefined: it returned nothing. */
  readonly results = new Map<string, string | undefined>();
  /** Keys and rounds that were recorded as undone. */
  readonly undone = new Set<string>();
  /**
   * Methods that were called, by key, round and kind, with the operator's calls that there had been at the
   * first.
   */
  readonly called = new Map<string, number>();
  /** Workers that it crashed since a part of it last ended. */
  readonly tookDown = new Set<string>();
  /** As of its last claim: it holds its lock, or has entered that of an ancestor. */
  lockHeld = false;
  /** It was refused its lock. */
  isDeadlocked = false;
  /** Tags that its methods have set, by idempotency key: the number of the call. */
  readonly tags = new Map<string, string>();
  /** Pivots that were recorded as completed while it went forward. */
  readonly pivots = new Set<string>();

  constructor(
    readonly id: string,
    readonly graph: SagaGraph,
    readonly lockKey: string | undefined,
    readonly parent: string | undefined,
    readonly correlationId: string | undefined,
    readonly limitKey?: string,
  ) {
    this.relations = new Relations(graph);
  }

  step(name: string): StepState | undefined {
    return this.state.steps.get(name);
  }
}
