import { decodeReports, reportKey, type StepReports } from '../../engine/ports/step-reports.js';
import type { StoredSaga } from '../../engine/ports/stored-saga.js';
import type { StepState } from '../../machine/saga-state.js';
import type { StepStatus } from '../../definition/types/saga-status.js';
import type { StepSnapshot } from './saga-snapshot.js';

const NONE: StepReports = new Map();

/** What the steps of a saga have reported. */
export function reportsOf({ reports }: StoredSaga): StepReports {
  return reports === undefined ? NONE : decodeReports(reports);
}

/** Whose reports count while a step has this status. What has ended is not in progress any more. */
const REPORTING: Partial<Record<StepStatus, 'step' | 'compensation'>> = {
  pending: 'step',
  running: 'step',
  waiting: 'step',
  failed: 'step',
  compensating: 'compensation',
  compensation_failed: 'compensation',
};

/** What a step, or its compensation, reported last in its round. */
export function reportedOf(
  reports: StepReports,
  key: string,
  { status }: StepState,
  round: number,
): Pick<StepSnapshot, 'progress' | 'heartbeatAt'> {
  const kind = reports === NONE ? undefined : REPORTING[status];
  const report = kind && reports.get(reportKey(key, kind));
  if (report?.round !== round) return {};
  const { progress, heartbeat } = report;
  return {
    ...(progress && { progress: { ...progress, at: new Date(progress.at) } }),
    ...(heartbeat && { heartbeatAt: new Date(heartbeat.at) }),
  };
}
