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

/**
 * The group of each status. `moving`: the saga continues by itself, or waits to. `ended`: nothing changes it any more,
 * except `undo`. `halted`: an operator must fix it. `paused`: an operator must resume it.
 */
export const STATUS_GROUPS = {
  running: 'moving',
  compensating: 'moving',
  completed: 'ended',
  compensated: 'ended',
  stuck: 'halted',
  suspended: 'halted',
  paused: 'paused',
  aborted: 'ended',
} as const satisfies Record<SagaStatus, string>;

type StatusGroup = (typeof STATUS_GROUPS)[SagaStatus];

/** The statuses of a group. */
export type StatusOf<Group extends StatusGroup> = {
  [S in SagaStatus]: (typeof STATUS_GROUPS)[S] extends Group ? S : never;
}[SagaStatus];

export const SAGA_STATUSES = Object.keys(STATUS_GROUPS) as readonly SagaStatus[];

function statusesOf(...groups: StatusGroup[]): readonly SagaStatus[] {
  return SAGA_STATUSES.filter((status) => groups.includes(STATUS_GROUPS[status]));
}

export const IN_PROGRESS = statusesOf('moving');

export const ENDED_STATUSES = statusesOf('ended');

/** The statuses at which `wait()` and `outcome()` resolve. */
export const SETTLED = statusesOf('ended', 'halted');

/** Sagas with these statuses continue only when an operator acts. */
export const NEEDS_ATTENTION = statusesOf('halted', 'paused');

/** The status of a step. `waiting`: for its delay, its next attempt, a signal, an operator, or another saga. */
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
