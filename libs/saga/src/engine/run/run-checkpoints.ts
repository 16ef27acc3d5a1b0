import type { Durability } from '../../definition/options/saga-options.js';
import { type SagaGraph, stepOfKey } from '../../definition/graph/saga-graph.js';
import type { MachineDecision } from '../../machine/plan.js';
import { attemptOfFailure } from '../../machine/attempt-errors.js';
import { hasAdvanced } from '../../machine/lost-workers.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { openApprovalsAfter } from '../../machine/open-approvals.js';
import { relationsOf } from '../../machine/graph-relations.js';
import { describeStep } from '../../machine/describe-step.js';
import { noteChanges, type StepNotes } from '../../machine/step-notes.js';
import { MadeCheckpoint } from '../write/made-checkpoint.js';
import { NOTHING } from '../../shared/empty-array.js';
import { sizeOfOthers, sizeOfSaga, sizeOfSteps } from '../ports/payload-size.js';
import type { RunChildren } from './run-children.js';
import type { RunRecord } from './run-record.js';
import type { StepMessages } from '../attempt/step-messages.js';
import { concernsOthers, type StoredMessage, writtenSteps } from '../ports/checkpoint.js';
import type { StoredSaga } from '../ports/stored-saga.js';
import { changeTags, type TagChanges, type Tags } from '../payload/tags.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** What a step that has ended sends with its checkpoint. */
type Effects = Pick<StepMessages, 'all' | 'tagChanges'>;

/** What a checkpoint carries beside the state. */
export interface CheckpointParts {
  readonly release?: { dueAt?: number };
  /** What the step sends whose transaction stores the checkpoint. */
  readonly effects?: Effects;
}

interface Kept extends Effects {
  readonly step: string;
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
  /** How safe that is from a crash of the database. A claim is durable, with all that was stored before. */
  private previousDurability: Durability = 'durable';
  private readonly elapsed = new Map<string, number>();
  /** What observers know of. */
  private told: SagaState;
  /** What steps that have ended send with the next checkpoint. */
  private kept: readonly Kept[] = NOTHING;
  /** What of it the last checkpoint has. */
  private sent: readonly Kept[] = NOTHING;
  /** The notes of steps that are stored. */
  private notes: StepNotes | undefined;
  private readonly hasApprovals: boolean;
  /** What is stored of the saga, and held here, in characters of payloads. */
  bytes: number;

  constructor(
    private readonly saga: StoredSaga,
    private readonly record: RunRecord,
    private readonly children: RunChildren | undefined,
    private readonly ports: Pick<SagaRunPorts, 'observers' | 'clock' | 'now'>,
    /** When the last saved checkpoint was made, or the claim was sent: monotonic ms. */
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

  /** The step has ended: the next checkpoint stores its messages, and how it has changed the tags of its saga. */
  keep(step: string, { all, tagChanges }: Effects): void {
    if (all.length > 0 || tagChanges) this.kept = [...this.kept, { step, all, tagChanges }];
  }

  /** What these steps came to cannot be stored. */
  retract(steps: readonly string[]): void {
    this.kept = this.kept.filter(({ step }) => !steps.includes(step));
  }

  make(
    state: SagaState,
    next: MachineDecision,
    cancelSeen: boolean,
    pauseSeen: boolean,
    { release, effects }: CheckpointParts,
  ): MadeCheckpoint {
    const { id, epoch, name, lock, parent } = this.saga;
    this.number += 1;
    this.sent = this.kept;
    const sent = effects ? [...this.kept, effects] : this.kept;
    const { saved } = this.record;
    const news = this.record.changedIn(state);
    const { changed, notes } = noteChanges(
      [saved, state],
      news,
      this.notes,
      Math.round(this.ports.now() - this.saga.createdAt),
    );
    const made = new MadeCheckpoint();
    made.id = id;
    made.epoch = epoch;
    made.number = this.number;
    made.state = state;
    made.changed = changed;
    made.notes = notes;
    if (this.hasApprovals) made.openApprovals = openApprovalsAfter(saved, state);
    made.failedAttempt = attemptOfFailure(state);
    made.fresh = this.record.isNew(writtenSteps(made));
    made.elapsed = this.elapsed;
    made.step = describeStep(this.record.graph, state, next);
    // What is given back to wait for its time may have come to nothing.
    made.advances = release === undefined || hasAdvanced(saved, state, changed);
    made.cancelSeen = cancelSeen;
    made.pauseSeen = pauseSeen;
    made.release = release;
    made.lock = lock && { name, key: lock.key };
    made.parent = parent;
    made.starts = this.children?.startedBy(state, saved);
    made.messages = messagesOf(sent);
    made.heldBy = release && next.held?.map(({ node }) => node.name);
    made.tags = tagsAfter(this.saga.tags, sent);
    // A transaction waits for the disk, and with it for all that was stored before.
    made.durability = effects ? 'durable' : durabilityOf(this.record.graph, made);
    // Looked at while the state is new: once it is stored, it would have to be fetched from memory again.
    const size = sizeOfSteps(state, changed);
    made.size = size + sizeOfOthers(made);
    made.graphSteps = this.record.graph.steps.size;
    made.growth = made.fresh ? size : size - sizeOfSteps(saved, changed);
    made.madeAt = this.ports.clock.monotonic();
    made.previous = this.previous;
    made.previousAt = this.previousAt;
    if (this.previousDurability === 'relaxed') made.after = this.previous;
    return made;
  }

  /** The last checkpoint is stored. */
  saved({ tags, state, notes, growth, number, madeAt, durability }: MadeCheckpoint): void {
    this.previous = number;
    this.previousAt = madeAt;
    this.previousDurability = durability;
    this.elapsed.clear();
    this.notes = notes;
    this.bytes += growth;
    const { sent } = this;
    if (sent.length > 0) this.kept = this.kept.filter((one) => !sent.includes(one));
    if (tags) this.saga.tags = tags;
    const before = this.told;
    this.told = state;
    this.ports.observers.changed(this.saga, [before, state], this.ports.now(), this.record.graph);
  }
}

/** What others go by, and that a step begins which must not begin twice, is safe before anything follows from it. */
function durabilityOf(
  graph: SagaGraph,
  parts: Pick<MadeCheckpoint, 'changed' | 'state' | 'parent' | 'starts'>,
): Durability {
  if (graph.durability !== 'relaxed' || concernsOthers(parts)) return 'durable';
  const beginsAtMostOnce = parts.changed.some(
    (key) =>
      stepState(parts.state, key).status === 'running' &&
      graph.steps.get(stepOfKey(key))?.idempotent === false,
  );
  return beginsAtMostOnce ? 'durable' : 'relaxed';
}

/** Undefined: none. */
function messagesOf(sent: readonly Effects[]): StoredMessage[] | undefined {
  if (sent.length === 0) return undefined;
  const messages = sent.flatMap(({ all }) => all);
  return messages.length > 0 ? messages : undefined;
}

/** All tags of the saga as the checkpoint stores them. Undefined: they stay as they are. */
function tagsAfter(tags: StoredSaga['tags'], sent: readonly Effects[]): Tags | undefined {
  if (sent.length === 0) return undefined;
  const changes: TagChanges[] = [];
  for (const { tagChanges } of sent) if (tagChanges) changes.push(tagChanges);
  return changes.length > 0 ? changeTags(tags, changes) : undefined;
}
