import { RigQueueSaga } from './programs/rig-sagas.js';
import { inputOf, Load } from './load.js';

/** A start or a call for a shard that is lost has to fail within so many milliseconds. */
export const LONGEST_REFUSAL = 5_000;
/** How often a saga that may start on any shard is started until it counts as refused. */
const ATTEMPTS_ANYWHERE = 3;

/**
 * Sagas on shards: one in three may start on any shard, the others where their correlation id or lock key has its home.
 * If that shard is lost, the start fails, and is repeated later. Nothing waits for it.
 */
export class ShardedLoad extends Load {
  private readonly postponed: number[] = [];

  override async end(): Promise<void> {
    await super.end();
    while (this.postponed.length > 0 && this.surprises.length === 0) await this.repeatOne();
  }

  protected override async startOne(n: number): Promise<void> {
    await this.repeatOne();
    if (n % 3 === 0 && this.kindOf(n) !== RigQueueSaga) await this.startAnywhere(n);
    else await this.startAtHome(n);
  }

  private async repeatOne(): Promise<void> {
    const n = this.postponed.shift();
    if (n !== undefined) await this.startAtHome(n);
  }

  private async startAtHome(n: number): Promise<void> {
    const refusal = await this.attempt(n, `rig-${n}`);
    if (refusal) this.postponed.push(n);
  }

  /** A start in progress may fail when the shard is lost. The next one goes to another shard. */
  private async startAnywhere(n: number): Promise<void> {
    let refusal: string | undefined;
    for (let attempt = 0; attempt < ATTEMPTS_ANYWHERE; attempt += 1) {
      refusal = await this.attempt(n, undefined);
      if (!refusal) return;
    }
    this.surprises.push(`a start that may go anywhere: ${refusal}`);
  }

  /** Returns why the start failed, if it may be repeated. */
  private async attempt(n: number, correlationId: string | undefined): Promise<string | undefined> {
    const input = inputOf(n);
    const began = performance.now();
    try {
      const { id } = await this.stage.service.start(this.kindOf(n), input, { correlationId });
      this.acknowledged.set(id, { correlationId, input });
      return undefined;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      const took = Math.round(performance.now() - began);
      if (took > LONGEST_REFUSAL) this.surprises.push(`start: failed after ${took} ms: ${message}`);
      if (code === 'SAGA_SHARD_UNAVAILABLE') return message;
      this.surprises.push(`start: ${code ?? ''} ${message}`);
      return undefined;
    }
  }
}
