import type { Durability } from '../../definition/options/saga-options.js';
import type { Parts } from '../../shared/parts.js';
import type { Checkpoint } from '../ports/checkpoint.js';

/**
 * A checkpoint as `RunCheckpoints` makes it, which sets all fields but the last ones. A class, since it lives until it is
 * stored, and longer if it may have to be put back: see NOTHING.
 */
export class MadeCheckpoint implements Parts<Checkpoint> {
  id!: Checkpoint['id'];
  epoch!: Checkpoint['epoch'];
  number!: Checkpoint['number'];
  state!: Checkpoint['state'];
  changed!: Checkpoint['changed'];
  notes: Checkpoint['notes'] = undefined;
  openApprovals: Checkpoint['openApprovals'] = undefined;
  failedAttempt: Checkpoint['failedAttempt'] = undefined;
  fresh: Checkpoint['fresh'] = undefined;
  elapsed: Checkpoint['elapsed'] = undefined;
  step!: Checkpoint['step'];
  advances!: Checkpoint['advances'];
  cancelSeen!: Checkpoint['cancelSeen'];
  pauseSeen!: Checkpoint['pauseSeen'];
  release: Checkpoint['release'] = undefined;
  lock: Checkpoint['lock'] = undefined;
  parent: Checkpoint['parent'] = undefined;
  starts: Checkpoint['starts'] = undefined;
  messages: Checkpoint['messages'] = undefined;
  tags: Checkpoint['tags'] = undefined;
  heldBy: Checkpoint['heldBy'] = undefined;
  /** The durability with which it is stored. */
  durability!: Durability;
  /** The size of what it stores, in characters of payloads. */
  size!: number;
  /** The number of steps of the saga's graph. */
  graphSteps!: number;
  /** The growth of all that is stored of the saga by it, in characters of payloads. */
  growth!: number;
  /** Monotonic ms, not after it is sent. */
  madeAt!: number;
  /** The number of the last saved checkpoint, or of the saga as it was claimed. */
  previous!: number;
  /** When that was made, or the claim was sent. */
  previousAt!: number;
  /** `SagaWriters` sets it again when the checkpoint is sent after a failover. */
  after: Checkpoint['after'] = undefined;
  /** `SagaWriters` sets it when the checkpoint is sent. */
  holder: Checkpoint['holder'] = undefined;
  /** `RecentSagas` sets it when the checkpoint is stored. The transaction of a step stored it: if it is lost, so is what the step wrote. */
  isTransactional = false;
  /**
   * The saga's checkpoint before it, which `RecentSagas` sets as far as it is needed: for its messages, sub-sagas and tags,
   * or since this one may not be put back.
   */
  before: MadeCheckpoint | undefined = undefined;
}
