/**
 * The status of a saga. `running` → `completed`; `running` → `compensating` → `compensated`. `stuck` and `suspended`
 * need an operator. `paused` waits for an operator. Terminal: `completed`, `compensated`, `aborted`.
 */

export type SagaStatus =
  | 'running'
  | 'compensating'
  | 'completed'
  | 'compensated'
  | 'stuck'
  | 'suspended'
  | 'paused'
  | 'aborted';
const STATUSES: Record<SagaStatus, true> = {
  running: true,
  compensating: true,
  completed: true,
  compensated: true,
  stuck: true,
  suspended: true,
  paused: true,
  aborted: true,
};

/** Sagas with these go on only once an operator acts. */
export const NEEDS_ATTENTION: readonly SagaStatus[] = ['stuck', 'suspended', 'paused'];

export const SAGA_STATUSES = Object.keys(STATUSES) as readonly SagaStatus[];

/** What has become of a step. `waiting`: for its delay, its next attempt, a signal, an operator, or another saga. */
export type StepStatus =
  | 'pending'
  | 'running'
  | 'waiting'
  | 'completed'
  | 'skipped'
  | 'failed'
  | 'compensating'
  | 'compensated'
  | 'compensation_failed';
