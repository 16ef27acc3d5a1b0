import type { Type } from '@nestjs/common';
import {
  pauseSchedule,
  resumeSchedule,
  scheduledGraph,
  type ScheduleOperatorOptions,
} from './schedule-calls.js';
import { changeShard, type ShardOperatorOptions } from './shard-calls.js';
import type { ShardStatus } from '../views/shard-status.js';
import { type ScheduleStatus, toScheduleStatus } from '../views/schedule-status.js';
import type { SagaHandle } from './saga-calls.js';
import { SagaReadCalls } from './saga-read-calls.js';

/** The calls of `SagaService` for schedules and shards. */
export abstract class SagaScheduleCalls extends SagaReadCalls {
  /** Returns the schedules of all applications of this database, by the names of their sagas. */
  async schedules(): Promise<ScheduleStatus[]> {
    const { engine } = await this.runtime.ready();
    return (await engine.allSchedules()).map(toScheduleStatus);
  }

  /**
   * Pauses the schedule of a saga until an operator resumes it: its times start no saga and are not caught up. Sagas that
   * it has started continue. A paused schedule is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async pauseSchedule(saga: Type | string, options?: ScheduleOperatorOptions): Promise<void> {
    return pauseSchedule(await this.runtime.ready(), saga, options);
  }

  /**
   * Resumes a paused schedule, from the next scheduled time. A schedule that is not paused is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async resumeSchedule(saga: Type | string, options?: ScheduleOperatorOptions): Promise<void> {
    return resumeSchedule(await this.runtime.ready(), saga, options);
  }

  /**
   * Starts the saga of a schedule now, beside its scheduled times, also while the schedule is paused.
   * @throws SagaStateError if `overlap` is `'skip'` and the saga that the schedule started last has not ended
   * @throws SagaDefinitionError if this application does not have the saga, or the saga has no schedule
   * @throws what `start()` throws for its input
   */
  async trigger<S = unknown>(saga: Type<S> | string): Promise<SagaHandle<S>> {
    const running = await this.runtime.ready();
    const id = await running.engine.trigger(scheduledGraph(running, saga));
    return this.handle<S>(id, true, running.engine);
  }

  /**
   * Returns the shards of the application, in the order of the module's options, with counts of their sagas. Without
   * shards: none.
   */
  async shards(): Promise<ShardStatus[]> {
    return (await (await this.runtime.ready()).shards?.status()) ?? [];
  }

  /**
   * Drains a shard: no new sagas start there, in any process. Other processes see it after their next poll. Its sagas
   * continue, and their sub-sagas start there. What may start anywhere starts on other shards. A drained shard is unchanged.
   * @throws SagaValidationError if the application has no such shard
   * @throws SagaShardUnavailableError if the shard cannot be reached
   */
  async drain(shard: string, options?: ShardOperatorOptions): Promise<void> {
    return changeShard(await this.runtime.ready(), 'drain', shard, options);
  }

  /**
   * Admits new sagas to a shard that was drained, or that was added to the shards of the application. Call it once all
   * processes have the shard. A shard that accepts sagas is unchanged.
   * @throws the same errors as drain()
   */
  async admit(shard: string, options?: ShardOperatorOptions): Promise<void> {
    return changeShard(await this.runtime.ready(), 'admit', shard, options);
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
  async close(shard: string, options?: ShardOperatorOptions): Promise<void> {
    return changeShard(await this.runtime.ready(), 'close', shard, options);
  }

  /**
   * Opens a closed shard: it is as it was before it was closed. Each process runs its sagas from its next poll on. A shard
   * that is open is unchanged.
   * @throws the same errors as drain()
   */
  async open(shard: string, options?: ShardOperatorOptions): Promise<void> {
    return changeShard(await this.runtime.ready(), 'open', shard, options);
  }
}
