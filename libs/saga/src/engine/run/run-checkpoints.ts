import type { Decision } from '../../machine/decide.js';
import { attemptOfFailure } from '../../machine/failed-attempt.js';
import { hasAdvanced } from '../../machine/lost-workers.js';
import type { SagaState } from '../../machine/saga-state.js';
import { describeStep } from '../../machine/describe-step.js';
import { noteChanges, type StepNotes } from '../../machine/step-notes.js';
import { MadeCheckpoint } from '../write/made-checkpoint.js';
import type { Clock } from '../../shared/clock.js';
import { NOTHING } from '../../shared/empty-array.js';
import { sizeOfOthers, sizeOfSaga, sizeOfSteps } from '../ports/payload-size.js';
import type { RunChildren } from './run-children.js';
import type { RunRecord } from './run-record.js';
import type { SagaObservers } from '../observe/saga-observers.js';
import { type StoredMessage, writtenSteps } from '../ports/checkpoint.js';
import type { StoredSaga } from '../ports/stored-saga.js';

/** What a checkpoint carries beside the state. */
export interface CheckpointParts {
  readonly cancelSeen: boolean;
  readonly pauseSeen: boolean;
  readonly release?: { dueAt?: number };
  /** The messages of the step whose transaction stores the checkpoint. */
  readonly messages?: readonly StoredMessage[];
}

interface Published {
  readonly step: string;
  readonly message: StoredMessage;
}

export interface RunCheckpointsPorts {
  readonly observers: SagaObservers;
  readonly clock: Clock;
  /** The store's time. */
  readonly now: () => number;
}

/**
 * Makes the checkpoints of one run. It numbers them, and puts into each what has gathered since the one before. Once a
 * checkpoint is stored, the observers receive its events.
 */
export class RunCheckpoints {
  /** The number of the last checkpoint. */
  private number: number;
  /** The number of the last saved checkpoint, or of the saga as it was claimed. */
  private previous: number;
  private readonly elapsed = new Map<string, number>();
  /** What observers know of. */
  private told: SagaState;
  private published: readonly Published[] = NOTHING;
  /** Those that are stored. */
  private notes: StepNotes | undefined;
  /** What is stored of the saga, and held here, in characters of payloads. */
  bytes: number;

  constructor(
    private readonly saga: StoredSaga,
    private readonly record: RunRecord,
    private readonly children: RunChildren | undefined,
    private readonly ports: RunCheckpointsPorts,
    /** When that was made, or the claim was sent: monotonic ms. */
    private previousAt: number,
  ) {
    this.number = saga.checkpoints;
    this.previous = saga.checkpoints;
    this.told = saga.state;
    this.notes = saga.notes;
    this.bytes = sizeOfSaga(saga);
  }

  /** An attempt of this step, or item, took so many milliseconds. */
  took(step: string, elapsed: number): void {
    this.elapsed.set(step, elapsed);
  }

  /** The step has ended: its messages are sent with the next checkpoint. */
  publish(step: string, messages: readonly StoredMessage[]): void {
    if (messages.length === 0) return;
    this.published = [...this.published, ...messages.map((message) => ({ step, message }))];
  }

  /** What these steps came to cannot be stored. */
  retract(steps: readonly string[]): void {
    this.published = this.published.filter(({ step }) => !steps.includes(step));
  }

  make(
    state: SagaState,
    next: Decision,
    { cancelSeen, pauseSeen, release, messages = NOTHING }: CheckpointParts,
  ): MadeCheckpoint {
    const { id, epoch, name, lock, parent } = this.saga;
    this.number += 1;
    const { saved } = this.record;
    const news = this.record.changedIn(state);
    const { changed, notes } = noteChanges(
      [saved, state],
      news,
      this.notes,
      Math.round(this.ports.now() - this.saga.createdAt),
    );
    const fresh = this.record.isNew(writtenSteps({ changed, notes }));
    const parts = {
      id,
      epoch,
      number: this.number,
      state,
      changed,
      notes,
      failedAttempt: attemptOfFailure(state),
      fresh,
      elapsed: this.elapsed,
      step: describeStep(state, next),
      // What is given back to wait for its time may have come to nothing.
      advances: release === undefined || hasAdvanced(saved, state, changed),
      cancelSeen,
      pauseSeen,
      release,
      lock: lock && { name, key: lock.key },
      parent,
      starts: this.children?.startedBy(state, saved),
      after: undefined,
      holder: undefined,
      messages: this.messagesWith(messages),
    };
    // Looked at while the state is new: once it is stored, it would have to be fetched from memory again.
    const size = sizeOfSteps(state, changed);
    const growth = fresh ? size : size - sizeOfSteps(saved, changed);
    const madeAt = this.ports.clock.monotonic();
    const { previous, previousAt } = this;
    return new MadeCheckpoint(parts, size + sizeOfOthers(parts), growth, madeAt, previous, previousAt);
  }

  /** Undefined: none. */
  private messagesWith(more: readonly StoredMessage[]): StoredMessage[] | undefined {
    if (this.published.length === 0 && more.length === 0) return undefined;
    return [...this.published.map(({ message }) => message), ...more];
  }

  saved({ messages, state, notes, growth, number, madeAt }: MadeCheckpoint): void {
    this.previous = number;
    this.previousAt = madeAt;
    this.elapsed.clear();
    this.notes = notes;
    this.bytes += growth;
    if (messages) this.published = this.published.filter(({ message }) => !messages.includes(message));
    const before = this.told;
    this.told = state;
    this.ports.observers.changed(this.saga, [before, state], this.ports.now(), this.record.graph);
  }
}
