import type { CallName } from 'nestjs-durable-saga/internal';

/** The words of the command of an operator's call. */
interface CommandWords {
  /** What its help says besides its summary, its JSON, and its confirmation. */
  readonly details?: string;
  readonly examples: readonly string[];
  /** The call asks for confirmation, by this question. `{}` is the step. */
  readonly asks?: string;
  /** What is printed after it. `{}` is the step or the signal. Default: by `done` of the call. */
  readonly prints?: string;
}

const INTERRUPTS =
  'If an attempt is in progress, the worker loses the lease of the saga, and other attempts are interrupted.';

export const CALL_COMMANDS: Readonly<Record<CallName, CommandWords>> = {
  retry: {
    examples: [
      'saga retry place-order/order-1234 --step chargeCard',
      'saga retry --where saga=place-order --where status=stuck --dry-run',
    ],
  },
  retryNow: {
    examples: ['saga retry-now place-order/order-1234 --step chargeCard'],
    prints: 'Retried {target}',
  },
  approve: { examples: ['saga approve place-order/order-1234 checkFraud --comment "invoice checked"'] },
  reject: { examples: ['saga reject place-order/order-1234 checkFraud --comment "invoice checked"'] },
  resume: { examples: ['saga resume --where saga=place-order --where status=paused --yes'] },
  pause: { examples: ['saga pause place-order/order-1234 --reason "the bank is down"'] },
  resolve: {
    details: `If the saga goes forward, the step completes with the result of --result. If it compensates, the step is marked as compensated. Of an approval, it is an approval. ${INTERRUPTS}`,
    examples: [`saga resolve place-order/order-1234 chargeCard --result '{"payment":"manual-1"}'`],
    asks: "Mark '{}' as done elsewhere?",
    prints: "Marked '{}' of {target} as done elsewhere",
  },
  signal: {
    examples: [`saga signal place-order/order-1234 payment-reply '{"paid":true}' --message-id bank-77`],
    prints: "Sent '{}' to {target}",
  },
  cancel: {
    examples: [
      'saga cancel place-order/order-1234 --reason "the customer called"',
      'saga cancel place-order/order-1234 --unless-begun ship',
      'saga cancel --where saga=place-order --where tag.campaign=spring --dry-run',
    ],
    asks: 'Cancel the saga?',
  },
  undo: { examples: ['saga undo place-order/order-1234 --reason "returned"'], asks: 'Undo the saga?' },
  reschedule: {
    details: '<time> is an ISO date, or a duration from now such as 2h. A time in the past means at once.',
    examples: ['saga reschedule place-order/order-1234 remind 2026-12-24T08:00Z --reason "the date moved"'],
  },
  abandon: {
    details: `The next attempt follows, or the compensation if no retries are left. ${INTERRUPTS}`,
    examples: ['saga abandon place-order/order-1234 chargeCard --reason "the bank hangs"'],
    asks: "Abandon the attempt of '{}'?",
    prints: "Abandoned the attempt of '{}' of {target}",
  },
  abort: {
    examples: ['saga abort place-order/order-1234 --reason "refunded manually" --yes'],
    asks: 'Abort the saga?',
  },
};
