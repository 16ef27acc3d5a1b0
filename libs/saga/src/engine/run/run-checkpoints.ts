import type { Decision } from '../../machine/plan.js';
import { attemptOfFailure } from '../../machine/failed-attempt.js';
import { hasAdvanced } from '../../machine/lost-workers.js';
import type { SagaState } from '../../machine/saga-state.js';
import { openApprovalsAfter } from '../../machine/open-approvals.js';
import { relationsOf } from '../../machine/graph-relations.js';
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
import type { TagChanges } from '../payload/tags.js';
import { RunTags } from './run-tags.js';

/** The requests that a run knows of, and its checkpoints answer. */
export interface SeenRequests {
  readonly cancelSeen: boolean;
  readonly pauseSeen: boolean;
}

/** What a checkpoint carries beside the state. */
export interface CheckpointParts {
  readonly release?: { dueAt?: number };
  /** The messages of the step whose transaction stores the checkpoint. */
  readonly messages?: readonly StoredMessage[];
  /** How the same step has changed the tags of its saga. */
  readonly tagChanges?: TagChanges;
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
  /** Made on first use: most steps set no tags. */
  private tags: RunTags | undefined;
  /** Those that are stored. */
  private notes: StepNotes | undefined;
  private readonly hasApprovals: boolean;
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
    this.hasApprovals = relationsOf(record.graph).hasApprovals;
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

  /** The step has ended: the next checkpoint stores how it has changed the tags of its saga. */
  setTags(step: string, changes: TagChanges | undefined): void {
    if (changes) this.ownTags().add(step, changes);
  }

  private ownTags(): RunTags {
    return (this.tags ??= new RunTags(this.saga));
  }

  /** What these steps came to cannot be stored. */
  retract(steps: readonly string[]): void {
    this.published = this.published.filter(({ step }) => !steps.includes(step));
    this.tags?.retract(steps);
  }

  make(
    state: SagaState,
    next: Decision,
    { cancelSeen, pauseSeen }: SeenRequests,
    { release, messages = NOTHING, tagChanges }: CheckpointParts,
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
      openApprovals: this.hasApprovals ? openApprovalsAfter(saved, state) : undefined,
      failedAttempt: attemptOfFailure(state),
      fresh,
      elapsed: this.elapsed,
      step: describeStep(this.record.graph, state, next),
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
      heldBy: release && next.held?.map(({ node }) => node.name),
      tags: (tagChanges ? this.ownTags() : this.tags)?.next(tagChanges),
    };
    // Looked at while the state is new: once it is stored, it would have to be fetched from memory again.
    const size = sizeOfSteps(state, changed);
    const graphSteps = this.record.graph.steps.size;
    const growth = fresh ? size : size - sizeOfSteps(saved, changed);
    const madeAt = this.ports.clock.monotonic();
    const { previous, previousAt } = this;
    const all = size + sizeOfOthers(parts);
    return new MadeCheckpoint(parts, all, graphSteps, growth, madeAt, previous, previousAt);
  }

  /** Undefined: none. */
  private messagesWith(more: readonly StoredMessage[]): StoredMessage[] | undefined {
    if (this.published.length === 0 && more.length === 0) return undefined;
    return [...this.published.map(({ message }) => message), ...more];
  }

  saved({ messages, tags, state, notes, growth, number, madeAt }: MadeCheckpoint): void {
    this.previous = number;
    this.previousAt = madeAt;
    this.elapsed.clear();
    this.notes = notes;
    this.bytes += growth;
    if (messages) this.published = this.published.filter(({ message }) => !messages.includes(message));
    if (tags) this.tags!.saved(tags);
    const before = this.told;
    this.told = state;
    this.ports.observers.changed(this.saga, [before, state], this.ports.now(), this.record.graph);
  }
}
