import { changeTags, type TagChanges, type Tags } from '../payload/tags.js';
import type { StoredSaga } from '../ports/stored-saga.js';

interface Change {
  readonly step: string;
  readonly changes: TagChanges;
}

/** How steps of a run have changed the tags of its saga. The next checkpoint stores it. */
export class RunTags {
  private pending: readonly Change[] = [];
  /** Those that the last checkpoint has. */
  private sent: readonly Change[] = [];

  constructor(private readonly saga: StoredSaga) {}

  add(step: string, changes: TagChanges): void {
    this.pending = [...this.pending, { step, changes }];
  }

  /** What these steps came to cannot be stored. */
  retract(steps: readonly string[]): void {
    this.pending = this.pending.filter(({ step }) => !steps.includes(step));
  }

  /**
   * All tags of the saga as the next checkpoint stores them. Undefined: they stay as they are.
   * @param more those of the step whose transaction stores it
   */
  next(more: TagChanges | undefined): Tags | undefined {
    this.sent = this.pending;
    const changes = this.sent.map((one) => one.changes);
    if (more) changes.push(more);
    return changes.length > 0 ? changeTags(this.saga.tags, changes) : undefined;
  }

  /** The last checkpoint is stored. */
  saved(tags: Tags): void {
    this.saga.tags = tags;
    const { sent } = this;
    this.pending = this.pending.filter((one) => !sent.includes(one));
  }
}
