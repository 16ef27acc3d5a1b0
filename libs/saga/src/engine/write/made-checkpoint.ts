import type { Checkpoint } from '../ports/checkpoint.js';

/** All of a checkpoint, so that the compiler misses what is added to it and not here. */
type Parts = { [Key in keyof Required<Checkpoint>]: Checkpoint[Key] };

/** A checkpoint as a run makes it: an instance of a class, since it lives until it is stored. See NOTHING. */
export class MadeCheckpoint implements Parts {
  readonly id: Parts['id'];
  readonly epoch: Parts['epoch'];
  readonly number: Parts['number'];
  readonly state: Parts['state'];
  readonly changed: Parts['changed'];
  readonly notes: Parts['notes'];
  readonly failedAttempt: Parts['failedAttempt'];
  readonly fresh: Parts['fresh'];
  readonly elapsed: Parts['elapsed'];
  readonly step: Parts['step'];
  readonly advances: Parts['advances'];
  readonly cancelSeen: Parts['cancelSeen'];
  readonly pauseSeen: Parts['pauseSeen'];
  readonly release: Parts['release'];
  readonly lock: Parts['lock'];
  readonly parent: Parts['parent'];
  readonly starts: Parts['starts'];
  readonly after: Parts['after'];
  readonly holder: Parts['holder'];
  readonly messages: Parts['messages'];

  /**
   * @param size of what it stores, in characters of payloads
   * @param growth of all that is stored of the saga by it
   * @param madeAt monotonic ms, not after it is sent
   * @param previous the number of the last saved checkpoint, or of the saga as it was claimed
   * @param previousAt when that was made, or the claim was sent
   */
  constructor(
    parts: Parts,
    readonly size: number,
    readonly growth: number,
    readonly madeAt: number,
    readonly previous: number,
    readonly previousAt: number,
  ) {
    this.id = parts.id;
    this.epoch = parts.epoch;
    this.number = parts.number;
    this.state = parts.state;
    this.changed = parts.changed;
    this.notes = parts.notes;
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
    this.after = parts.after;
    this.holder = parts.holder;
    this.messages = parts.messages;
  }
}
