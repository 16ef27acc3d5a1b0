import { Inject, Injectable, type Type } from '@nestjs/common';
import { readWho, type ReasonOptions } from './calls/operator-options.js';
import { editKnownSchedule, scheduledGraph } from './calls/schedule-calls.js';
import type { ServiceRuntime } from './assemble-engine.js';
import { SagaRuntime } from './saga.runtime.js';
import type { SagaHandle } from './calls/saga-calls.js';
import { type ScheduleStatus, toScheduleStatus } from './views/schedule-status.js';
import { sagaHandle } from './calls/saga-handle.js';

/** The schedules of sagas, of all applications of this database. */
@Injectable()
export class SagaSchedules {
  /** @hidden */
  constructor(@Inject(SagaRuntime) private readonly runtime: ServiceRuntime) {}

  /** Returns the schedules of all applications of this database, by the names of their sagas. */
  async list(): Promise<ScheduleStatus[]> {
    const { engine } = await this.runtime.ready();
    return (await engine.allSchedules()).map(toScheduleStatus);
  }

  /**
   * Pauses the schedule of a saga until an operator resumes it: its times start no saga and are not caught up. Sagas that
   * it has started continue. A paused schedule is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async pause(saga: Type | string, options?: ReasonOptions): Promise<void> {
    const who = readWho('pause', options);
    const { engine, registry } = await this.runtime.ready();
    await editKnownSchedule(engine, registry.nameOf(saga), (schedule, now) =>
      schedule.paused ? undefined : { schedule: { ...schedule, paused: { at: now, ...who } } },
    );
  }

  /**
   * Resumes a paused schedule, from the next scheduled time. A schedule that is not paused is unchanged.
   * @throws SagaNotFoundError if no process has run this schedule yet
   */
  async resume(saga: Type | string, options?: ReasonOptions): Promise<void> {
    readWho('resume', options);
    const { engine, registry } = await this.runtime.ready();
    await editKnownSchedule(engine, registry.nameOf(saga), ({ paused, ...schedule }, now) => {
      if (!paused) return undefined;
      // What was due while it was paused has been left out, also if no process was there.
      return { schedule: { ...schedule, decidedUntil: Math.max(schedule.decidedUntil, now) } };
    });
  }

  /**
   * Starts the saga of a schedule now, beside its scheduled times, also while the schedule is paused.
   * @throws SagaStateError if `overlap` is `'skip'` and the saga that the schedule started last has not ended
   * @throws SagaDefinitionError if this application does not have the saga, or the saga has no schedule
   * @throws what `start()` throws for its input
   */
  async trigger<S = unknown>(saga: Type<S> | string): Promise<SagaHandle<S>> {
    const running = await this.runtime.ready();
    const id = await running.engine.trigger(scheduledGraph(running.registry, saga));
    return sagaHandle<S>(id, true, running.engine);
  }
}
