import { SagaShardUnavailableError } from '../errors.js';

/** Whether the database of a shard can be reached. Calls to a shard that cannot be reached fail at once. */
export class ShardHealth {
  private cause: unknown;
  private reached = true;
  private readonly inProgress = new Set<(error: Error) => void>();

  constructor(private readonly shard: string) {}

  get reachable(): boolean {
    return this.reached;
  }

  /** The error of a call that cannot be made. */
  get error(): SagaShardUnavailableError {
    const why = (this.cause as { message?: unknown } | undefined)?.message;
    return new SagaShardUnavailableError(
      `Shard '${this.shard}' cannot be reached${typeof why === 'string' ? `: ${why}` : ''}. Its sagas continue when its ` +
        `database can be reached again. Repeat the call later; other shards are not affected.`,
      this.shard,
      { cause: this.cause },
    );
  }

  found(): void {
    this.reached = true;
    this.cause = undefined;
  }

  /** All calls in progress fail. Whether a change that they make is stored is not known. */
  lost(cause: unknown): void {
    this.reached = false;
    this.cause = cause;
    const { error } = this;
    for (const reject of this.inProgress) reject(error);
    this.inProgress.clear();
  }

  /** @throws SagaShardUnavailableError at once if the shard cannot be reached, or as soon as it is lost */
  async guard<T>(call: () => Promise<T>): Promise<T> {
    if (!this.reached) throw this.error;
    const answer = call();
    return new Promise<T>((resolve, reject) => {
      this.inProgress.add(reject);
      answer.then(resolve, reject).finally(() => this.inProgress.delete(reject));
    });
  }
}
