import type { Type } from '@nestjs/common';
import type { StoredSchedule } from '../../engine/ports/stored-schedule.js';
import type { ScheduledGraph } from '../../engine/schedule/schedule-ticker.js';
import { SagaDefinitionError, SagaNotFoundError } from '../../errors.js';
import type { SagaRegistry } from '../discovery/saga.registry.js';

/**
 * The saga that a schedule starts.
 * @throws SagaDefinitionError if this application does not have it, or it has no schedule
 */
export function scheduledGraph(registry: SagaRegistry, saga: Type | string): ScheduledGraph {
  const graph = registry.latestOf(registry.nameOf(saga));
  const { schedule } = graph;
  if (schedule) return { ...graph, schedule };
  throw new SagaDefinitionError(
    `trigger(): saga '${graph.name}' has no schedule. Declare one with @Saga({ schedule: { cron } }), or start the saga with start().`,
  );
}

/** @throws SagaNotFoundError if no process has run a schedule of this saga yet */
export function knownSchedule(stored: StoredSchedule | undefined, name: string): StoredSchedule {
  if (stored) return stored;
  throw new SagaNotFoundError(
    `No schedule of a saga named '${name}' exists. A schedule exists once a process with a worker that has it was started.`,
  );
}
