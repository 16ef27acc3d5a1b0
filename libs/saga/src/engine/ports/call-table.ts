/** An option of a call, or an operand before its options. */
export interface CallOption {
  /**
   * How it is checked, stored and asked for. `json`: any value. `time`: a Date, or a duration from now. These two are kept with
   * the call in the history: another value is another call.
   */
  readonly type: 'text' | 'flag' | 'step' | 'time' | 'json';
  /** One sentence, as the REST API documents it. */
  readonly about?: string;
  readonly example?: string;
  /** The option stands before the others: `skip(target, step, options)`. */
  readonly operand?: true;
  readonly required?: true;
  /** The option's value on the command line: `<json>`. */
  readonly value?: string;
  /** What the help of its flag says. */
  readonly help?: string;
  /** The label of its field in the dialog of the dashboard, which asks for nothing else. */
  readonly label?: string;
}

/** The texts of a dialog of the dashboard. */
interface DialogTexts {
  readonly title: string;
  readonly text: string;
  /** An option that it does not ask for. */
  readonly omits?: string;
}

/** The dialog of a call in the dashboard. */
export interface Dialog extends DialogTexts {
  /** The button that opens it. `…`: it asks for something. */
  readonly label: string;
  /** The button that sends it. Default: the label. */
  readonly submit?: string;
  readonly look?: 'primary' | 'danger';
  readonly requiresReason?: true;
  /** For a call with `now`. */
  readonly now?: DialogTexts & { readonly label: string };
  /** For a saga that needs attention while it compensates. */
  readonly compensating?: DialogTexts;
}

interface Command {
  /** Default: the summary of the call. */
  readonly summary?: string;
  /** What its help says besides its summary, its JSON, and its confirmation. */
  readonly details?: string;
  readonly examples: readonly string[];
  /** The call asks for confirmation, by this question. `{}` is the step. */
  readonly asks?: string;
  /** What is printed after it. `{}` is the step or the signal. Default: by `done`. */
  readonly prints?: string;
}

/** All that is known of a call but how it changes a saga, which is in `engine/operate/call-rules.ts`. */
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
  /** The call can be made on each saga that matches a filter: what the dashboard says then. */
  readonly many?: string;
  /** The call compensates the saga: the compensations are shown before. */
  readonly compensates?: true;
  readonly dialog: Dialog;
  readonly command: Command;
}

const INTERRUPTS = 'The worker loses the lease of the saga, and other attempts in progress are interrupted.';

const step = (about: string): CallOption & { readonly operand: true } => ({
  type: 'step',
  operand: true,
  required: true,
  value: '<step>',
  about,
  label: 'Step',
});
const RESULT: CallOption = {
  type: 'json',
  about: 'The result of the step.',
  label: 'Result of the step (JSON)',
  value: '<json>',
  help: 'the result of the step',
};
const FORCE: CallOption = {
  type: 'flag',
  about: 'Whether to interrupt another at-most-once step in progress, whose outcome is unknown then.',
  help: 'also if another at-most-once step is in progress, whose outcome is unknown then',
};
const COMMENT: CallOption = {
  type: 'text',
  label: 'Comment',
  value: '<text>',
  help: 'a comment, which is passed to the step',
};

/**
 * The calls that operators make on one saga, in the order in which they are offered. The methods of `SagaService`, the REST API,
 * the dashboard, the command line, the history and the rights of the admin follow from it.
 */
export const CALLS = {
  retry: {
    summary: 'Retries the failed steps of a stuck or suspended saga, or makes the next attempt at once',
    done: 'retried',
    options: {
      step: {
        type: 'step',
        about: 'The only step to retry, if several failed.',
        label: 'Step',
        value: '<name>',
        help: 'retry only this step, if several failed',
      },
      input: {
        type: 'json',
        about: 'The input that replaces the input of the saga.',
        value: '<json>',
        help: 'the input that replaces the input of the saga',
        label: 'With another input (JSON)',
      },
      now: {
        type: 'flag',
        about: 'Whether a saga that waits for the next attempt of a step makes it at once.',
        help: 'make the next attempt at once, if the saga waits for it',
      },
    },
    approvals: 'retryWithInput',
    many: 'Each saga retries its failed steps, with all of their attempts.',
    dialog: {
      label: 'Retry',
      look: 'primary',
      title: 'Retry the failed step?',
      text: 'It has all of its attempts again. Fix the cause first.',
      now: {
        label: 'Retry now',
        title: 'Make the next attempt at once?',
        text: 'The saga does not wait until the next attempt is due.',
        omits: 'input',
      },
    },
    command: {
      summary: 'Retries the failed steps of a stuck or suspended saga',
      examples: [
        'saga retry place-order/order-1234 --step chargeCard',
        'saga retry place-order/order-1234 --now',
        'saga retry --where saga=place-order --where status=stuck --dry-run',
      ],
    },
  },
  skip: {
    summary: 'Marks the failed step or compensation of a stuck saga as completed manually',
    done: 'skipped',
    options: { step: step('The step that was completed manually.'), result: RESULT },
    approvals: 'skip',
    dialog: {
      label: 'Skip…',
      title: 'Mark this step as completed manually?',
      text: 'The saga continues as if the step had returned this result. The engine does not check that the step was really completed.',
      requiresReason: true,
      compensating: {
        title: 'Mark this compensation as completed manually?',
        text: 'The saga continues to compensate as if this compensation had succeeded. The engine does not check that it was really completed.',
        omits: 'result',
      },
    },
    command: {
      details:
        'If the saga goes forward, the step completes with the result of --result. If it compensates, the step is marked as compensated.',
      examples: [`saga skip place-order/order-1234 chargeCard --result '{"payment":"manual-1"}'`],
      asks: "Mark '{}' as completed manually?",
      prints: "Marked '{}' of {target} as completed manually",
    },
  },
  approve: {
    summary: 'Approves an approval step',
    done: 'approved',
    decides: true,
    options: { step: step('The step that waits for approval.'), comment: COMMENT },
    dialog: { label: 'Approve', look: 'primary', title: 'Approve this step?', text: 'The saga continues.' },
    command: {
      summary: 'Approves a step that waits for approval',
      examples: ['saga approve place-order/order-1234 checkFraud --comment "invoice checked"'],
    },
  },
  reject: {
    summary: 'Rejects an approval step: the saga compensates',
    done: 'rejected',
    decides: true,
    options: { step: step('The step that waits for approval.'), comment: COMMENT },
    dialog: { label: 'Reject…', look: 'danger', title: 'Reject this step?', text: 'The saga compensates.' },
    command: {
      summary: 'Rejects a step that waits for approval: the saga compensates',
      examples: ['saga reject place-order/order-1234 checkFraud --comment "invoice checked"'],
    },
  },
  resume: {
    summary: 'Resumes a paused saga',
    done: 'resumed',
    options: {},
    many: 'They continue where they were paused.',
    dialog: {
      label: 'Resume',
      look: 'primary',
      title: 'Resume this saga?',
      text: 'It continues where it was paused.',
    },
    command: { examples: ['saga resume --where saga=place-order --where status=paused --yes'] },
  },
  pause: {
    summary: 'Pauses a saga: no further step begins',
    done: 'paused',
    options: {},
    many: 'Running steps finish. No other step starts until an operator resumes them.',
    dialog: {
      label: 'Pause',
      title: 'Pause this saga?',
      text: 'Running steps finish. No other step starts until an operator resumes it.',
    },
    command: {
      summary: 'Pauses a saga: no further step begins until it is resumed',
      examples: ['saga pause place-order/order-1234 --reason "the bank is down"'],
    },
  },
  signal: {
    summary: 'Sends a signal to a saga. A signal that arrives early is kept',
    done: 'sent the signal',
    sends: true,
    options: {
      signal: {
        type: 'text',
        operand: true,
        required: true,
        value: '<signal>',
        label: 'Signal',
        about: 'The name of the signal.',
      },
      payload: { type: 'json', operand: true, value: '<payload>', label: 'Payload (JSON)' },
      messageId: {
        type: 'text',
        about: 'A later signal with the same messageId is dropped.',
        value: '<id>',
        help: 'the id of the signal; a later signal with the same id is dropped',
      },
    },
    dialog: {
      label: 'Signal…',
      title: 'Send a signal to this saga?',
      text: 'The step that waits for the signal receives it now, or when the saga reaches that step.',
    },
    command: {
      examples: [`saga signal place-order/order-1234 payment-reply '{"paid":true}' --message-id bank-77`],
      prints: "Sent '{}' to {target}",
    },
  },
  cancel: {
    summary: 'Stops a saga and compensates its completed steps',
    done: 'cancelled',
    options: {
      unlessBegun: {
        type: 'step',
        value: '<step>',
        label: 'Only if this step has not begun',
        about: 'The name of a step: the saga is cancelled only if this step has not begun.',
        help: 'cancel only if this step has not begun',
      },
    },
    compensates: true,
    many: 'Completed steps are compensated. To see which, open the page of one saga first.',
    dialog: {
      label: 'Cancel…',
      submit: 'Cancel the saga',
      look: 'danger',
      title: 'Stop this saga and compensate its completed steps?',
      text: 'Running steps finish first. These compensations would run:',
      requiresReason: true,
    },
    command: {
      examples: [
        'saga cancel place-order/order-1234 --reason "the customer called"',
        'saga cancel place-order/order-1234 --unless-begun ship',
        'saga cancel --where saga=place-order --where tag.campaign=spring --dry-run',
      ],
      asks: 'Cancel the saga?',
    },
  },
  undo: {
    summary: 'Compensates a completed saga',
    done: 'undone',
    options: {},
    approvals: 'undo',
    compensates: true,
    many: 'The compensations of each of them run.',
    dialog: {
      label: 'Undo…',
      submit: 'Undo the saga',
      look: 'danger',
      title: 'Undo this completed saga?',
      text: 'Its compensations run, in this order:',
      requiresReason: true,
    },
    command: {
      examples: ['saga undo place-order/order-1234 --reason "returned"'],
      asks: 'Undo the saga?',
    },
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
        value: '<time>',
        about: 'The new time: an ISO date, or a duration from now such as 2h.',
        example: '2026-12-24T08:00:00Z',
        label: 'New time (2026-12-24T08:00Z) or duration from now (2h)',
      },
    },
    dialog: {
      label: 'Reschedule…',
      submit: 'Reschedule',
      title: 'Move the time that this step waits for?',
      text: 'The end of its delay or of its wait, or its next attempt. A time in the past means at once.',
    },
    command: {
      details: '<time> is an ISO date, or a duration from now such as 2h. A time in the past means at once.',
      examples: ['saga reschedule place-order/order-1234 remind 2026-12-24T08:00Z --reason "the date moved"'],
    },
  },
  complete: {
    summary: 'Marks a step that is running or waiting, or its compensation, as completed elsewhere',
    done: 'completed',
    options: {
      step: step('The step, or the item, that is in progress or waits.'),
      force: FORCE,
      result: RESULT,
    },
    approvals: 'complete',
    dialog: {
      label: 'Complete…',
      title: 'Mark this step as completed elsewhere?',
      text: 'The saga continues as if the step had returned this result. Its worker does not wait for the step any more, and other attempts in progress are interrupted. The engine does not check that the step was really completed.',
      requiresReason: true,
    },
    command: {
      summary: 'Marks a running or waiting step, or its compensation, as completed elsewhere',
      details: INTERRUPTS,
      examples: [`saga complete place-order/order-1234 chargeCard --result '{"payment":"manual-1"}'`],
      asks: "Mark '{}' as completed elsewhere?",
      prints: "Marked '{}' of {target} as completed",
    },
  },
  abandonAttempt: {
    summary: 'Abandons an attempt in progress: its outcome is unknown from now on',
    done: 'abandoned',
    options: { step: step('The step, or the item, of which an attempt is in progress.'), force: FORCE },
    approvals: 'abandonAttempt',
    dialog: {
      label: 'Abandon attempt…',
      submit: 'Abandon the attempt',
      title: 'Abandon the attempt of this step that is in progress?',
      text: 'Its outcome is unknown from now on. The next attempt follows, or the compensation if no retries are left. Other attempts in progress are interrupted.',
      requiresReason: true,
    },
    command: {
      details: `The next attempt follows, or the compensation if no retries are left. ${INTERRUPTS}`,
      examples: ['saga abandon-attempt place-order/order-1234 chargeCard --reason "the bank hangs"'],
      asks: "Abandon the attempt of '{}'?",
      prints: "Abandoned the attempt of '{}' of {target}",
    },
  },
  abort: {
    summary: 'Stops a saga and compensates nothing',
    done: 'aborted',
    options: {},
    approvals: 'abort',
    many: 'They stop at once. Nothing is compensated. This is final.',
    dialog: {
      label: 'Abort…',
      submit: 'Abort the saga',
      look: 'danger',
      title: 'Stop this saga and compensate nothing?',
      text: 'Completed steps keep their effects. This is final.',
      requiresReason: true,
    },
    command: {
      summary: 'Stops a saga at once and compensates nothing',
      examples: ['saga abort place-order/order-1234 --reason "refunded manually" --yes'],
      asks: 'Abort the saga?',
    },
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
export type OperatorAction = Exclude<CallName, CallsWith<'sends'>>;
/** The calls that decide on the step of an approval. */
export type DecisionCall = CallsWith<'decides'>;
/** An action that `SagaService.bulk()` can run on each saga. */
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
  return factsOf(name).many !== undefined;
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
