import type { Type } from '@nestjs/common';
import type { ScheduleEdit, StoredSchedule } from '../../engine/ports/stored-schedule.js';
import type { ScheduledGraph } from '../../engine/schedule/schedule-ticker.js';
import { SagaDefinitionError, SagaNotFoundError } from '../../errors.js';
import type { EngineCalls } from '../../shards/engine-calls.js';
import { suggestion } from '../../shared/nearest-name.js';
import { shown } from '../../shared/shown-value.js';
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
export async function editKnownSchedule(
  engine: Pick<EngineCalls, 'editSchedule' | 'allSchedules'>,
  name: string,
  change: (stored: StoredSchedule, now: number) => ScheduleEdit | undefined,
): Promise<void> {
  let isKnown = false;
  await engine.editSchedule(name, (stored, now) => {
    isKnown = stored !== undefined;
    return stored && change(stored, now);
  });
  if (isKnown) return;
  const names = (await engine.allSchedules()).map(({ saga }) => saga);
  const hint = suggestion(
    name,
    names,
    'A schedule exists once a process with a worker that has it was started.',
  );
  throw new SagaNotFoundError(`There is no schedule of a saga named ${shown(name)}. ${hint}`);
}
