import type { Durability } from '../../definition/options/saga-options.js';
import type { Parts } from '../../shared/parts.js';
import type { Checkpoint } from '../ports/checkpoint.js';

/** A checkpoint as a run makes it: an instance of a class, since it lives until it is stored. See NOTHING. */
export class MadeCheckpoint implements Parts<Checkpoint> {
  readonly id: Checkpoint['id'];
  readonly epoch: Checkpoint['epoch'];
  readonly number: Checkpoint['number'];
  readonly state: Checkpoint['state'];
  readonly changed: Checkpoint['changed'];
  readonly notes: Checkpoint['notes'];
  readonly openApprovals: Checkpoint['openApprovals'];
  readonly failedAttempt: Checkpoint['failedAttempt'];
  readonly fresh: Checkpoint['fresh'];
  readonly elapsed: Checkpoint['elapsed'];
  readonly step: Checkpoint['step'];
  readonly advances: Checkpoint['advances'];
  readonly cancelSeen: Checkpoint['cancelSeen'];
  readonly pauseSeen: Checkpoint['pauseSeen'];
  readonly release: Checkpoint['release'];
  readonly lock: Checkpoint['lock'];
  readonly parent: Checkpoint['parent'];
  readonly starts: Checkpoint['starts'];
  /** After a failover, set when it is sent. */
  after: Checkpoint['after'];
  /** Set when it is sent. */
  holder: Checkpoint['holder'] = undefined;
  readonly messages: Checkpoint['messages'];
  readonly tags: Checkpoint['tags'];
  readonly heldBy: Checkpoint['heldBy'];

  /**
   * @param durability with which it is stored
   * @param after of the checkpoint
   * @param size of what it stores, in characters of payloads
   * @param graphSteps the steps of the saga's graph
   * @param growth of all that is stored of the saga by it
   * @param madeAt monotonic ms, not after it is sent
   * @param previous the number of the last saved checkpoint, or of the saga as it was claimed
   * @param previousAt when that was made, or the claim was sent
   */
  constructor(
    parts: Omit<Parts<Checkpoint>, 'after' | 'holder'>,
    readonly durability: Durability,
    after: Checkpoint['after'],
    readonly size: number,
    readonly graphSteps: number,
    readonly growth: number,
    readonly madeAt: number,
    readonly previous: number,
    readonly previousAt: number,
  ) {
    this.after = after;
    this.id = parts.id;
    this.epoch = parts.epoch;
    this.number = parts.number;
    this.state = parts.state;
    this.changed = parts.changed;
    this.notes = parts.notes;
    this.openApprovals = parts.openApprovals;
    this.failedAttempt = parts.failedAttempt;
    this.fresh = parts.fresh;
    this.elapsed = parts.elapsed;
    this.step = parts.step;
    this.advances = parts.advances;
    this.cancelSeen = parts.cancelSeen;
    this.pauseSeen = parts.pauseSeen;
    this.release = parts.release;
    this.lock = parts.lock;
    this.parent = parts.parent;
    this.starts = parts.starts;
    this.messages = parts.messages;
    this.tags = parts.tags;
    this.heldBy = parts.heldBy;
  }
}
