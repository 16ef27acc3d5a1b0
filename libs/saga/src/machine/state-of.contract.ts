import {
  INITIAL,
  PENDING,
  type SagaState,
  type SagaStatus,
  type StepState,
  type StepStatus,
} from './saga-state.js';

const STEP = /^(\w+)=(\w+)(!?)(\??)(?:@(\d+))?$/;

/**
 * A state in short, for tables: `a=completed b=running! c=failed? d=waiting@500` means a completed, b running
 * with an attempt under way, c failed with its outcome unknown, d waiting until 500.
 */
export function stateOf(status: SagaStatus, steps: string): SagaState {
  return {
    ...INITIAL,
    status,
    failure: status === 'running' ? undefined : { kind: 'error', step: 'any' },
    steps: new Map(steps.split(' ').filter(Boolean).map(stepOf)),
  };
}

function stepOf(text: string): [string, StepState] {
  const match = STEP.exec(text);
  if (!match) throw new Error(`not a step: ${text}`);
  const [, name, status, active, unknown, retryAt] = match;
  return [
    name!,
    {
      ...PENDING,
      status: status as StepStatus,
      attempts: status === 'pending' ? 0 : 1,
      active: active === '!',
      unknown: unknown === '?',
      retryAt: retryAt === undefined ? undefined : Number(retryAt),
      result: status === 'completed' ? `"${name}"` : undefined,
    },
  ];
}

/** The steps of a state in the same short form. */
export function shortOf(state: SagaState): string {
  return [...state.steps]
    .map(([name, { status, active, unknown, retryAt, child, wait }]) =>
      [
        name,
        '=',
        status,
        active ? '!' : '',
        unknown ? '?' : '',
        retryAt === undefined ? '' : `@${retryAt}`,
        child === undefined ? '' : `[${child.id} ${child.phase}]`,
        wait === undefined ? '' : `[${wait.signal} ${wait.heard ?? `until ${wait.until}`}]`,
      ].join(''),
    )
    .join(' ');
}
