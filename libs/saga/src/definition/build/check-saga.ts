import type { Type } from '@nestjs/common';
import { HANDLER_PREFIX } from '../options/handler-name.js';
import { LONGEST_NAME, OptionReader, UNREADABLE } from '../options/option-reader.js';
import type { SagaGraph } from '../graph/saga-graph.js';
import { SagaMetadata } from '../decorators/saga-metadata.js';
import { defaultSagaName } from '../decorators/saga-name.js';
import type { Report } from '../../shared/diagnostic.js';
import type { InheritedPolicies } from './check-step.js';
import { SAGA_DECORATOR_OPTIONS, type SagaOptions } from '../options/saga-options.js';
import { readSchedule } from '../schedule/read-schedule.js';
import { shown } from '../../shared/shown-value.js';

/** Returns what a graph has of its saga's own options, and the policies of steps that have none. */
export function readSaga(
  saga: Type,
  given: SagaOptions,
  report: Report,
): { own: Omit<SagaGraph, 'steps'>; policies: InheritedPolicies } {
  const reader = new OptionReader(report, '@Saga ', '@Saga has the ');
  const { retry, compensationRetry, ...read } = reader.read(SAGA_DECORATOR_OPTIONS, given);
  const { name = defaultSagaName(saga), upgradeFrom, timeout, sla, schedule, ...others } = read;
  const { lockMode, ...options } = others;
  const { version, lockKey } = options;
  checkName(name, report);
  if (SagaMetadata.stepsOf(saga).length === 0)
    report('it has no steps', 'decorate at least one method with @Step()');
  if (lockMode !== undefined && lockKey === undefined)
    report('@Saga lockMode needs a lock', 'add lockKey, or remove lockMode');
  const own = {
    ...options,
    name,
    upgradeFrom: readUpgradeFrom(upgradeFrom, version, report),
    timeout: typeof timeout === 'number' ? timeout : undefined,
    timeoutOf: typeof timeout === 'function' ? timeout : undefined,
    sla: typeof sla === 'number' ? sla : undefined,
    slaOf: typeof sla === 'function' ? sla : undefined,
    schedule: schedule && readSchedule(schedule, lockKey !== undefined, report),
    rejectsWhileLocked: lockMode === 'reject' ? (true as const) : undefined,
  };
  return { own, policies: { retry, compensationRetry } };
}

function checkName(name: unknown, report: Report): void {
  if (
    !(typeof name === 'string' && name.length > 0 && name.length <= LONGEST_NAME) ||
    name.trim() !== name ||
    UNREADABLE.test(name)
  ) {
    report(
      `@Saga name ${shown(name)} cannot be used`,
      `give 1 to ${LONGEST_NAME} characters, without spaces around them or control characters`,
    );
  } else if (name.startsWith(HANDLER_PREFIX)) {
    report(
      `@Saga name ${shown(name)} begins with '${HANDLER_PREFIX}', which is reserved for step handlers`,
      'give it another name',
    );
  }
}

function readUpgradeFrom(given: unknown, version: unknown, report: Report): readonly number[] | undefined {
  if (given === undefined) return undefined;
  const versions: unknown[] = Array.isArray(given) ? given : [given];
  for (const from of versions) {
    if (Number.isInteger(from) && (from as number) >= 1 && (from as number) < (version as number)) continue;
    report(
      `@Saga upgradeFrom ${shown(from)} is not lower than the version ${shown(version)}`,
      version === 1 ? 'give the new graph a higher version' : 'give a lower version, such as upgradeFrom: 1',
    );
  }
  return [...new Set(versions as number[])].sort((a, b) => b - a);
}
