import { Inject, Injectable } from '@nestjs/common';
import type { ShardCall } from '../store/postgres/shards/postgres-shard-row.js';
import { readWho, type ReasonOptions } from './calls/operator-options.js';
import { noShards } from './shards/shard-calls.js';
import type { ServiceRuntime } from './assemble-engine.js';
import { SagaRuntime } from './saga.runtime.js';
import type { ShardStatus } from './views/shard-status.js';

/** The shards of an application: the databases that its sagas are in. */
@Injectable()
export class SagaShards {
  /** @hidden */
  constructor(@Inject(SagaRuntime) private readonly runtime: ServiceRuntime) {}

  /**
   * Returns the shards of the application, in the order of the module's options, with counts of their sagas. Without
   * shards: none.
   */
  async list(): Promise<ShardStatus[]> {
    return (await (await this.runtime.ready()).shards?.status()) ?? [];
  }

  /**
   * Drains a shard: no new sagas start there, in any process. Other processes see it after their next poll. Its sagas
   * continue, and their sub-sagas start there. What may start anywhere starts on other shards. A drained shard is unchanged.
   * @throws SagaValidationError if the application has no such shard
   * @throws SagaShardUnavailableError if the shard cannot be reached
   */
  async drain(shard: string, options?: ReasonOptions): Promise<void> {
    return this.change('drain', shard, options);
  }

  /**
   * Closes a shard, so that its tables can be copied to another server: see docs/shards.md. Each process stops its sagas and
   * its relay on the shard at its next poll, as at its own shutdown, and calls for its sagas fail with
   * SagaShardUnavailableError. Calls of `outcome()` and `watch()` that wait for its sagas end with an error. The call resolves
   * once nothing runs there any more. From then on the database refuses each change of these tables, from any process. A
   * closed shard is unchanged. The role of the application must own the tables.
   * @throws SagaUnavailableError if sagas or the relay of a process still run after a minute. Nothing new begins on the shard;
   * repeat the call
   * @throws the same errors as drain()
   */
  async close(shard: string, options?: ReasonOptions): Promise<void> {
    return this.change('close', shard, options);
  }

  /**
   * Opens a closed shard: it is as it was before it was closed, and each process runs its sagas from its next poll on. A shard
   * that is not closed is opened for new sagas: one that was drained, or that was added to the shards of the application.
   * Open an added shard once all processes have it. A shard that is open and accepts sagas is unchanged.
   * @throws the same errors as drain()
   */
  async open(shard: string, options?: ReasonOptions): Promise<void> {
    return this.change('open', shard, options);
  }

  private async change(call: ShardCall, shard: string, given: ReasonOptions | undefined): Promise<void> {
    const who = readWho(call, given);
    const { shards } = await this.runtime.ready();
    if (!shards) throw noShards(call, shard);
    await shards.change(shard, call, who);
  }
}
