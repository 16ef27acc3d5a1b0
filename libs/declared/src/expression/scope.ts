/** What the expressions of one place of a file can name, and what they must not do. */
export interface Scope {
  readonly names: readonly string[];
  /** Whether `env` and `secrets` may be used: not if the value is stored. */
  readonly secret?: boolean;
  /** Whether equal stored data must give equal values: no time of day, no random numbers. */
  readonly repeatable?: boolean;
}

const RUN = ['input', 'results', 'saga', 'step'] as const;
const ATTEMPT = [...RUN, 'item', 'index', 'attempt', 'idempotencyKey', 'fencingToken'] as const;
const SECRET = ['env', 'secrets'] as const;

/** The requests and commands of a step. */
export const STEP_SCOPE: Scope = { names: [...ATTEMPT, 'round', ...SECRET], secret: true };
/** The requests and commands of a compensation. */
export const COMPENSATION_SCOPE: Scope = {
  names: [...ATTEMPT, 'result', 'failure', ...SECRET],
  secret: true,
};
/** Certificates and proxies: no value of a saga decides about them. */
export const CONNECTION_SCOPE: Scope = { names: [...SECRET], secret: true };
/** `when` and `forEach`, which are asked again after a crash. */
export const CONDITION_SCOPE: Scope = { names: [...RUN, 'round'], repeatable: true };
/** The key of a lock. */
export const LOCK_SCOPE: Scope = { names: ['input', 'tags'], repeatable: true };
/** The input of a saga that a schedule starts. */
export const SCHEDULE_SCOPE: Scope = { names: ['at', 'triggered'] };
/** The input of a sub-saga or of a handler. */
export const CHILD_SCOPE: Scope = { names: [...RUN, 'round'], repeatable: true };
/** What a signal or a decision becomes. */
export const SIGNAL_SCOPE: Scope = { names: [...RUN, 'round', 'payload'] };
export const DECISION_SCOPE: Scope = { names: [...RUN, 'round', 'decision'] };
/** Messages of steps and compensations, which are stored before they are sent. */
export const MESSAGE_SCOPE: Scope = {
  names: [...RUN, 'attempt', 'idempotencyKey', 'fencingToken', 'round'],
};
export const COMPENSATION_MESSAGE_SCOPE: Scope = {
  names: [...ATTEMPT, 'result', 'failure'],
};
/** What a response, or the output of a command, becomes. */
export const RESPONSE_SCOPE: Scope = { names: [...ATTEMPT, 'status', 'headers', 'body'] };
export const OUTPUT_SCOPE: Scope = { names: [...ATTEMPT, 'output'] };
