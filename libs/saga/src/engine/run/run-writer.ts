import type { Decision } from '../../machine/plan.js';
import { evolve } from '../../machine/evolve.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import type { Clock } from '../../shared/clock.js';
import { Mutex } from '../../shared/mutex.js';
import type { StepAttempt } from '../attempt/step-attempt.js';
import { NotNow, type Staged } from '../attempt/transactional-attempt.js';
import { serializeError } from '../payload/serialize-error.js';
import { type EngineLog, logErrorOf } from '../ports/engine-log.js';
import type { SagaStore } from '../ports/saga-store.js';
import { type CheckpointResult, concernsOthers } from '../ports/checkpoint.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import type { MadeCheckpoint } from '../write/made-checkpoint.js';
import type { RunAttempts } from './run-attempts.js';
import type { CheckpointParts, RunCheckpoints, SeenRequests } from './run-checkpoints.js';
import type { RunRecord } from './run-record.js';
import type { RunReports } from './run-reports.js';
import type { RunSignals } from './run-signals.js';

/** How long (ms) a transaction waits for a checkpoint of its saga, which may be waiting for the connection that it holds. */
const STAGE_MAX_WAIT_MS = 2_000;

export interface RunWriterPorts {
  readonly checkpoint: (checkpoint: MadeCheckpoint) => Promise<CheckpointResult>;
  /** The store took so many milliseconds for a checkpoint. */
  readonly answered: (duration: number) => void;
  readonly claimSoon: () => void;
  readonly store: Pick<SagaStore, 'refuses'>;
  readonly clock: Clock;
  readonly log: EngineLog;
}

/** The run whose checkpoints are written. */
export interface WrittenRun {
  readonly saga: StoredSaga;
  readonly record: RunRecord;
  readonly checkpoints: RunCheckpoints;
  readonly attempts: RunAttempts;
  /** Undefined: no step waits for a signal. */
  readonly signals: RunSignals | undefined;
  /** Undefined: none of its steps has reported anything. */
  readonly reported: RunReports | undefined;
  /** Stores what they have reported. */
  storeReports(): Promise<void>;
  /** The run knows of these requests: its checkpoints answer them. */
  readonly requests: SeenRequests;
  /** The messages that wait for the run. */
  readonly inbox: { readonly isEmpty: boolean };
  refused(result: CheckpointResult): Promise<void>;
  fence(): void;
}

/** Writes the checkpoints of one run, those of its transactional steps included: one at a time. */
export class RunWriter {
  private readonly turn = new Mutex();

  constructor(
    private readonly run: WrittenRun,
    private readonly ports: RunWriterPorts,
  ) {}

  /** No checkpoint is being written. */
  get isFree(): boolean {
    return this.turn.isFree;
  }

  /** Resolves once no checkpoint is being written. */
  async becomesFree(): Promise<void> {
    (await this.turn.acquire())();
  }

  /** Stores what `make` returns, which is called once no other checkpoint is being written. Undefined: nothing to store. */
  async save(make: () => MadeCheckpoint | undefined): Promise<CheckpointResult> {
    const turn = this.turn.acquire();
    const release = turn instanceof Promise ? await turn : turn;
    try {
      const checkpoint = make();
      if (!checkpoint) return 'saved';
      let result: CheckpointResult;
      try {
        result = await this.ports.checkpoint(checkpoint);
      } catch (error) {
        return await this.unstorable(checkpoint, error);
      }
      this.ports.answered(this.ports.clock.monotonic() - checkpoint.madeAt);
      if (concernsOthers(checkpoint)) this.ports.claimSoon();
      if (result === 'saved') {
        this.run.record.saveAs(checkpoint.state);
        this.run.checkpoints.saved(checkpoint);
        this.run.signals?.forget(checkpoint.state);
        this.run.reported?.forgetEnded(checkpoint.state);
      } else await this.run.refused(result);
      return result;
    } finally {
      release();
    }
  }

  checkpointOf(state: SagaState, next: Decision, parts: CheckpointParts = {}): MadeCheckpoint {
    return this.run.checkpoints.make(state, next, this.run.requests, parts);
  }

  /**
   * Makes the checkpoint of a transactional step, which its transaction stores.
   * @throws NotNow if another checkpoint of the saga is not written in time
   */
  async stage(attempt: StepAttempt, event: SagaEvent): Promise<Staged | undefined> {
    const { record, attempts } = this.run;
    const release = await this.turn.acquireWithin(STAGE_MAX_WAIT_MS, this.ports.clock);
    if (!release) throw new NotNow();
    if (!attempts.has(attempt)) return void release();
    const { state, decision: next } = record.stage(event);
    // The last step's transaction also finishes the saga.
    const isLast = next.settle !== undefined && attempts.size === 1 && this.run.inbox.isEmpty;
    const candidate = isLast ? evolve(record.graph, state, { type: 'settled', status: next.settle }) : state;
    const { all: messages, tagChanges } = attempt.messages;
    const parts = { ...(isLast && { release: {} }), messages, tagChanges };
    return { candidate, checkpoint: this.checkpointOf(candidate, next, parts), release };
  }

  /** The transaction of a staged checkpoint has committed. */
  adopt({ candidate, checkpoint }: Staged): void {
    const { record, checkpoints, attempts } = this.run;
    record.adopt(candidate);
    checkpoints.saved(checkpoint);
    this.run.reported?.forgetEnded(candidate);
    attempts.abortObsolete(record.graph, record.state);
  }

  /**
   * The checkpoint failed. If the database refuses the data, the results that are new since the last checkpoint are the only
   * user data in it, so their steps have failed. Nothing else says anything about the steps: the write may have been
   * committed all the same (at shutdown the database is not waited for), or keys of a codec are missing. Then, and if even
   * the failure cannot be stored, the lease runs out and the bound on takeovers leaves the saga to an operator.
   */
  private async unstorable({ state, changed }: MadeCheckpoint, error: unknown): Promise<CheckpointResult> {
    const isRefused = this.ports.store.refuses(error);
    const what = isRefused ? 'a checkpoint was refused: ' : 'a checkpoint could not be stored: ';
    logErrorOf(this.run.saga, error, this.ports.log, what);
    const fresh = changed.filter((name) => stepState(state, name).status === 'completed');
    if (fresh.length === 0 || !isRefused) {
      this.run.fence();
      return 'fenced';
    }
    // A step that completes leaves its last details of heartbeats unstored, and one that fails does not.
    await this.run.storeReports();
    this.run.record.refuse(fresh, serializeError(error));
    this.run.checkpoints.retract(fresh);
    return 'cancelled';
  }
}
