import type { Type } from '@nestjs/common';
import type { StoredSchedule } from '../../engine/ports/stored-schedule.js';
import type { ScheduledGraph } from '../../engine/schedule/saga-schedules.js';
import { SagaDefinitionError, SagaNotFoundError } from '../../errors.js';
import type { ServiceParts } from '../assemble-engine.js';
import { type OperatorOptions, readWho } from './operator-options.js';

/** Options of `SagaService.pauseSchedule()` and `resumeSchedule()`: the operator and the reason. */
export type ScheduleOperatorOptions = Omit<OperatorOptions, 'expects'>;

/** @throws SagaNotFoundError if no process has run a schedule of this saga yet */
export async function pauseSchedule(
  { engine, registry }: ServiceParts,
  saga: Type | string,
  given: ScheduleOperatorOptions | undefined,
): Promise<void> {
  const who = readWho('pauseSchedule', given);
  const name = registry.nameOf(saga);
  await engine.editSchedule(name, (stored, now) => {
    const schedule = known(stored, name);
    if (schedule.paused) return undefined;
    return { schedule: { ...schedule, paused: { at: now, ...who } } };
  });
}

/** @throws SagaNotFoundError if no process has run a schedule of this saga yet */
export async function resumeSchedule(
  { engine, registry }: ServiceParts,
  saga: Type | string,
  given: ScheduleOperatorOptions | undefined,
): Promise<void> {
  readWho('resumeSchedule', given);
  const name = registry.nameOf(saga);
  await engine.editSchedule(name, (stored, now) => {
    const { paused, ...schedule } = known(stored, name);
    if (!paused) return undefined;
    // What was due while it was paused has been left out, also if no process was there.
    return { schedule: { ...schedule, decidedUntil: Math.max(schedule.decidedUntil, now) } };
  });
}

/**
 * The saga that a schedule starts.
 * @throws SagaDefinitionError if this application does not have it, or it has no schedule
 */
export function scheduledGraph({ registry }: ServiceParts, saga: Type | string): ScheduledGraph {
  const graph = registry.latestOf(registry.nameOf(saga));
  const { schedule } = graph;
  if (schedule) return { ...graph, schedule };
  throw new SagaDefinitionError(
    `trigger(): saga '${graph.name}' has no schedule. Declare one with @Saga({ schedule: { cron } }), or start the saga with start().`,
  );
}

function known(stored: StoredSchedule | undefined, name: string): StoredSchedule {
  if (stored) return stored;
  throw new SagaNotFoundError(
    `No schedule of a saga named '${name}' exists. A schedule exists once a process with a worker that has it was started.`,
  );
}
