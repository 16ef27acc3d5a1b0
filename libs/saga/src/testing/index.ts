export { SagaTest } from './saga-test.js';
export { SagaTestHangError } from './pending-work.js';
export { SagaTestRun } from './saga-test-run.js';
export type { ScheduledRun, TestPeriod } from './scheduled-runs.js';
export type { TestCall } from './current-call.js';
export {
  type EveryFailureOptions,
  type FailureCheck,
  type FailurePoint,
  type FailureReport,
  SagaFailureMatrixError,
} from './failure-matrix.js';
