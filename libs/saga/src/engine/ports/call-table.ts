/** An option of a call, or an operand before its options. */
export interface CallOption {
  /**
   * How it is checked, stored and asked for. `json`: any value. `time`: a Date, or a duration from now. These two are kept with
   * the call in the history: another value is another call.
   */
  readonly type: 'text' | 'flag' | 'step' | 'time' | 'json';
  /** What the REST API and the command line say of it: one sentence without a verb, or with its own subject. */
  readonly about?: string;
  readonly example?: string;
  /** The option stands before the others: `resolve(target, step, options)`. */
  readonly operand?: true;
  readonly required?: true;
}

/**
 * All that is known of a call but how it changes a saga, which is in `engine/operate/call-rules.ts`. The words of its dialog
 * are in `admin/call-dialogs.ts`, and those of its command in `cli/commands/call-commands.ts`.
 */
export interface CallFacts {
  /** One line: what it does. */
  readonly summary: string;
  /** What was done, in the history: `cancelled`. */
  readonly done: string;
  /** The call decides on the step of an approval, and names who decides. */
  readonly decides?: true;
  /** The call sends a signal, which is stored on its own: it does not say who sends it. */
  readonly sends?: true;
  readonly options: Readonly<Record<string, CallOption>>;
  /** The rule of `forRoot({ approvals })` by which it needs several operators. */
  readonly approvals?: string;
  /** The call can be made on each saga that matches a filter. */
  readonly many?: true;
  /** The call compensates the saga: the compensations are shown before. */
  readonly compensates?: true;
}

const step = (about: string): CallOption & { readonly operand: true } => ({
  type: 'step',
  operand: true,
  required: true,
  about,
});
const RESULT: CallOption = { type: 'json', about: 'The result of the step; a compensation has none.' };
const FORCE: CallOption = {
  type: 'flag',
  about: 'Whether to interrupt another at-most-once step in progress, whose outcome is unknown then.',
};
const COMMENT: CallOption = { type: 'text', about: 'A comment, which is passed to the step.' };

/**
 * The calls that operators make on one saga, in the order in which they are offered. The methods of `SagaService` and
 * `SagaOperations`, the REST API, the dashboard, the command line, the history and the rights of the admin follow from it.
 */
export const CALLS = {
  retry: {
    summary: 'Retries what has failed: steps of a stuck or suspended saga, compensations of any',
    done: 'retried',
    options: {
      step: { type: 'step', about: 'The only step to retry, if several failed.' },
      input: { type: 'json', about: 'The input that replaces the input of the saga.' },
    },
    approvals: 'retryWithInput',
    many: true,
  },
  retryNow: {
    summary: 'Makes the next attempt of a step at once, if a saga waits for it',
    done: 'retried at once',
    options: { step: { type: 'step', about: 'The only step to retry, if several wait.' } },
  },
  approve: {
    summary: 'Approves an approval step',
    done: 'approved',
    decides: true,
    options: { step: step('The step that waits for approval.'), comment: COMMENT },
  },
  reject: {
    summary: 'Rejects an approval step: the saga compensates',
    done: 'rejected',
    decides: true,
    options: { step: step('The step that waits for approval.'), comment: COMMENT },
  },
  resume: { summary: 'Resumes a paused saga', done: 'resumed', options: {}, many: true },
  pause: { summary: 'Pauses a saga: no further step begins', done: 'paused', options: {}, many: true },
  resolve: {
    summary: 'Marks a step or its compensation as done elsewhere, whether it has failed, is running or waits',
    done: 'resolved',
    options: {
      step: step('The step, or the item, that was done elsewhere.'),
      force: FORCE,
      result: RESULT,
    },
    approvals: 'resolve',
  },
  signal: {
    summary: 'Sends a signal to a saga. A signal that arrives early is kept',
    done: 'sent the signal',
    sends: true,
    options: {
      signal: { type: 'text', operand: true, required: true, about: 'The name of the signal.' },
      payload: { type: 'json', operand: true },
      messageId: { type: 'text', about: 'A later signal with the same messageId is dropped.' },
    },
  },
  cancel: {
    summary: 'Stops a saga and compensates its completed steps',
    done: 'cancelled',
    options: {
      unlessBegun: {
        type: 'step',
        about: 'The name of a step: the saga is cancelled only if this step has not begun.',
      },
    },
    compensates: true,
    many: true,
  },
  undo: {
    summary: 'Compensates a completed saga',
    done: 'undone',
    options: {},
    approvals: 'undo',
    compensates: true,
    many: true,
  },
  reschedule: {
    summary: 'Moves the end of a delay or of a wait, or the next attempt of a step',
    done: 'rescheduled',
    options: {
      step: step('The step, or the item, that waits.'),
      at: {
        type: 'time',
        operand: true,
        required: true,
        about: 'The new time: an ISO date, or a duration from now such as 2h.',
        example: '2026-12-24T08:00:00Z',
      },
    },
  },
  abandon: {
    summary: 'Abandons an attempt in progress: its outcome is unknown from now on',
    done: 'abandoned',
    options: { step: step('The step, or the item, of which an attempt is in progress.'), force: FORCE },
    approvals: 'abandon',
  },
  abort: {
    summary: 'Stops a saga and compensates nothing',
    done: 'aborted',
    options: {},
    approvals: 'abort',
    many: true,
  },
} as const satisfies Record<string, CallFacts>;

type Calls = typeof CALLS;
/** The name of a call on one saga. */
export type CallName = keyof Calls;
/** The calls that have this fact. */
type CallsWith<Fact extends string> = {
  [Name in CallName]: Calls[Name] extends Record<Fact, unknown> ? Name : never;
}[CallName];
/** The calls that change a saga, and are kept in its history with the change. */
export type ChangingCall = Exclude<CallName, CallsWith<'sends'>>;
/** The calls that decide on the step of an approval. */
export type DecisionCall = CallsWith<'decides'>;
/** An action that `SagaOperations.bulk()` can run on each saga. */
export type BulkAction = CallsWith<'many'>;
/** The rules of `forRoot({ approvals })`. */
export type ApprovalRule = Extract<Calls[CallName], { approvals: string }>['approvals'];

export const CALL_NAMES = Object.keys(CALLS) as CallName[];
export const DECISION_CALLS = CALL_NAMES.filter((name) => factsOf(name).decides) as DecisionCall[];
export const BULK_ACTIONS = CALL_NAMES.filter((name) => isBulk(name));
export const APPROVAL_RULES = CALL_NAMES.flatMap((name) => factsOf(name).approvals ?? []) as ApprovalRule[];

/** The facts of a call, whatever it is. */
export function factsOf(name: CallName): CallFacts {
  return CALLS[name];
}

export function isBulk(name: CallName): name is BulkAction {
  return factsOf(name).many === true;
}

/** The names of the operands of a call, in their order, and of its options. */
export function argumentsOf(name: CallName): { readonly operands: string[]; readonly options: string[] } {
  const { options } = factsOf(name);
  const [operands, others] = [true, false].map((isOperand) =>
    Object.keys(options).filter((option) => (options[option]!.operand === true) === isOperand),
  );
  return { operands: operands!, options: others! };
}

/** What a call takes of its caller, beside its own options. */
export function callerOptionsOf(name: CallName): readonly ('reason' | 'by' | 'expects')[] {
  const { decides, sends } = factsOf(name);
  if (sends) return [];
  return decides ? ['by'] : ['reason', 'by', 'expects'];
}
