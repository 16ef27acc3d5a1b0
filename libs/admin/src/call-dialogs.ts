import type { BulkAction } from 'nestjs-durable-saga/operators';
import type { CallName } from 'nestjs-durable-saga/internal';

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
  /** For a saga that compensates. */
  readonly compensating?: DialogTexts;
}

/** The labels of the options that a dialog asks for: of no others. */
export const FIELD_LABELS: Readonly<Record<string, string>> = {
  step: 'Step',
  input: 'With another input (JSON)',
  result: 'Result of the step (JSON)',
  comment: 'Comment',
  signal: 'Signal',
  payload: 'Payload (JSON)',
  unlessBegun: 'Only if this step has not begun',
  at: 'New time (2026-12-24T08:00Z) or duration from now (2h)',
};

/** The dialogs of the operators' calls. */
export const DIALOGS: Readonly<Record<CallName, Dialog>> = {
  retry: {
    label: 'Retry',
    look: 'primary',
    title: 'Retry the failed step?',
    text: 'It has all of its attempts again. Fix the cause first.',
  },
  retryNow: {
    label: 'Retry now',
    look: 'primary',
    title: 'Make the next attempt at once?',
    text: 'The saga does not wait until the next attempt is due.',
  },
  approve: { label: 'Approve', look: 'primary', title: 'Approve this step?', text: 'The saga continues.' },
  reject: { label: 'Reject…', look: 'danger', title: 'Reject this step?', text: 'The saga compensates.' },
  resume: {
    label: 'Resume',
    look: 'primary',
    title: 'Resume this saga?',
    text: 'It continues where it was paused.',
  },
  pause: {
    label: 'Pause',
    title: 'Pause this saga?',
    text: 'Running steps finish. No other step starts until an operator resumes it.',
  },
  resolve: {
    label: 'Resolve…',
    title: 'Mark this step as done elsewhere?',
    text: 'The saga continues as if the step had returned this result. Its worker does not wait for the step any more, and other attempts in progress are interrupted. The engine does not check that the step was really done.',
    requiresReason: true,
    compensating: {
      title: 'Mark this compensation as done elsewhere?',
      text: 'The saga continues to compensate as if this compensation had succeeded. The engine does not check that it was really done.',
      omits: 'result',
    },
  },
  signal: {
    label: 'Signal…',
    title: 'Send a signal to this saga?',
    text: 'The step that waits for the signal receives it now, or when the saga reaches that step.',
  },
  cancel: {
    label: 'Cancel…',
    submit: 'Cancel the saga',
    look: 'danger',
    title: 'Stop this saga and compensate its completed steps?',
    text: 'Running steps finish first. These compensations would run:',
    requiresReason: true,
  },
  undo: {
    label: 'Undo…',
    submit: 'Undo the saga',
    look: 'danger',
    title: 'Undo this completed saga?',
    text: 'Its compensations run, in this order:',
    requiresReason: true,
  },
  reschedule: {
    label: 'Reschedule…',
    submit: 'Reschedule',
    title: 'Move the time that this step waits for?',
    text: 'The end of its delay or of its wait, or its next attempt. A time in the past means at once.',
  },
  abandon: {
    label: 'Abandon attempt…',
    submit: 'Abandon the attempt',
    title: 'Abandon the attempt of this step that is in progress?',
    text: 'Its outcome is unknown from now on. The next attempt follows, or the compensation if no retries are left. Other attempts in progress are interrupted.',
    requiresReason: true,
  },
  abort: {
    label: 'Abort…',
    submit: 'Abort the saga',
    look: 'danger',
    title: 'Stop this saga and compensate nothing?',
    text: 'Completed steps keep their effects. This is final.',
    requiresReason: true,
  },
};

/** What the dialog of a call on many sagas says. */
export const BULK_TEXTS: Readonly<Record<BulkAction, string>> = {
  retry: 'Each saga retries its failed steps, with all of their attempts.',
  resume: 'They continue where they were paused.',
  pause: 'Running steps finish. No other step starts until an operator resumes them.',
  cancel: 'Completed steps are compensated. To see which, open the page of one saga first.',
  undo: 'The compensations of each of them run.',
  abort: 'They stop at once. Nothing is compensated. This is final.',
};
