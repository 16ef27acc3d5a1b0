import type { BulkAction } from '../../nest/calls/bulk-edit.js';
import type { OperatorOptions } from '../../nest/calls/operator-options.js';
import type { SagaTarget } from '../../nest/calls/saga-calls.js';
import { type Command, command, EXIT, JSON_OPTION, option, type ValuesOf } from '../command.js';
import { BULK_OPTIONS, operateOnMany } from '../bulk.js';
import { checkEncoded } from '../codec-option.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { operating } from '../session.js';
import { type OperatorSession, SAGA_OPTIONS } from '../operator-session.js';
import { OPERATOR_OPTIONS, operatorOptionsOf } from '../operator.js';
import { rollbackLines, withoutResults } from '../text/rollback-text.js';
import { headOf } from '../text/saga-page.js';
import { paintOn } from '../text/style.js';
import { readTarget } from '../target.js';
import type { Terminal } from '../terminal.js';
import { UsageError } from '../usage-error.js';
import { JSON_SOURCES, readJson, readWhere } from '../values.js';

const OPTIONS = {
  ...SAGA_OPTIONS,
  ...JSON_OPTION,
  ...OPERATOR_OPTIONS,
  ...YES_OPTION,
  ...BULK_OPTIONS,
} as const;

type Values = ValuesOf<typeof OPTIONS>;

/** An operator's call on one saga, or on all that a filter finds. */
interface Operation {
  readonly action: BulkAction;
  readonly summary: string;
  readonly details?: string;
  readonly examples: readonly string[];
  /** Cannot be taken back, so it asks first. */
  readonly asks?: boolean;
  /** Turns the saga back: what that would do is shown before. */
  readonly turnsBack?: boolean;
  readonly done: string;
}

const OPERATIONS: readonly Operation[] = [
  {
    action: 'abort',
    summary: 'Stops a saga at once and compensates nothing',
    examples: ['saga abort place-order/order-1234 --reason "refunded manually" --yes'],
    asks: true,
    done: 'Aborted',
  },
  {
    action: 'undo',
    summary: 'Compensates a completed saga',
    details: 'Shows the compensations that would run and asks for confirmation. --dry-run only shows them.',
    examples: ['saga undo place-order/order-1234 --reason "returned"'],
    asks: true,
    turnsBack: true,
    done: 'Undone',
  },
  {
    action: 'pause',
    summary: 'Pauses a saga: no further step begins until it is resumed',
    examples: ['saga pause place-order/order-1234 --reason "the bank is down"'],
    done: 'Paused',
  },
  {
    action: 'resume',
    summary: 'Resumes a paused saga',
    examples: ['saga resume --where saga=place-order --where status=paused --yes'],
    done: 'Resumed',
  },
];

export const operations: readonly Command[] = OPERATIONS.map((operation) =>
  command({
    ...textsOf(operation),
    options: OPTIONS,
    run: async ({ operands: [written], values, terminal }) =>
      run(operation, written, values, terminal, (target, { sagas }, options) =>
        sagas[operation.action](target, options),
      ),
  }),
);

const CANCEL: Operation = {
  action: 'cancel',
  summary: 'Stops a saga and compensates its completed steps',
  details: 'Shows the compensations that would run and asks for confirmation. --dry-run only shows them.',
  examples: [
    'saga cancel place-order/order-1234 --reason "the customer called"',
    'saga cancel place-order/order-1234 --unless-begun ship',
    'saga cancel --where saga=place-order --where tag.campaign=spring --dry-run',
  ],
  asks: true,
  turnsBack: true,
  done: 'Cancelled',
};

export const cancel = command({
  ...textsOf(CANCEL),
  options: {
    ...OPTIONS,
    'unless-begun': option.text('<step>', 'cancel only if this step has not begun'),
  },
  run: async ({ operands: [written], values, terminal }) => {
    const unlessBegun = values['unless-begun'];
    if (written === undefined && unlessBegun !== undefined)
      throw new UsageError('--unless-begun applies to one saga; give a <target>');
    return run(CANCEL, written, values, terminal, (target, { sagas }, options) =>
      sagas.cancel(target, { ...options, ...(unlessBegun !== undefined && { unlessBegun }) }),
    );
  },
});

const RETRY: Operation = {
  action: 'retry',
  summary: 'Retries the failed steps of a stuck or suspended saga',
  details: `--input is ${JSON_SOURCES}.`,
  examples: [
    'saga retry place-order/order-1234 --step chargeCard',
    'saga retry place-order/order-1234 --now',
    'saga retry --where saga=place-order --where status=stuck --dry-run',
  ],
  done: 'Retried',
};

export const retry = command({
  ...textsOf(RETRY),
  options: {
    ...OPTIONS,
    step: option.text('<name>', 'retry only this step, if several failed'),
    input: option.text('<json>', 'the input that replaces the input of the saga'),
    now: option.flag('make the next attempt at once, if the saga waits for it'),
  },
  run: async ({ operands: [written], values, terminal }) => {
    const { step } = values;
    if (written === undefined && (step !== undefined || values.input !== undefined || values.now))
      throw new UsageError('--step, --input and --now apply to one saga; give a <target>');
    const input = await readJson(values.input, '--input', terminal);
    const more = {
      ...(step !== undefined && { step }),
      ...(values.input !== undefined && { input }),
      ...(values.now && { now: true }),
    };
    return run(RETRY, written, values, terminal, (target, operated, options) => {
      checkEncoded(operated, values.input && '--input');
      return operated.sagas.retry(target, { ...options, ...more });
    });
  },
});

type Act = (target: SagaTarget, operated: OperatorSession, options: OperatorOptions) => Promise<void>;

function textsOf({ action, summary, details, examples }: Operation) {
  return { words: action, operands: ['[<target>]'], summary, ...(details && { details }), examples };
}

async function run(
  operation: Operation,
  written: string | undefined,
  values: Values,
  terminal: Terminal,
  act: Act,
): Promise<number> {
  const { where, 'dry-run': dryRun } = values;
  if ((written === undefined) === (where === undefined))
    throw new UsageError('Give a <target>, or select several sagas with --where');
  if (!dryRun && (operation.asks || where)) checkAskable(values.yes, operation.action, terminal);
  const options = operatorOptionsOf(values, terminal);
  // Invalid arguments are reported before the database is connected.
  if (where) readWhere(where);
  return operating(values, terminal, async (operated) => {
    checkEncoded(operated, values.reason && '--reason');
    return where
      ? operateOnMany(operation.action, { ...values, where }, options, operated, terminal)
      : operateOnOne(operation, written!, values, options, operated, terminal, act);
  });
}

async function operateOnOne(
  operation: Operation,
  written: string,
  values: Values,
  given: OperatorOptions,
  operated: OperatorSession,
  terminal: Terminal,
  act: Act,
): Promise<number> {
  const target = readTarget(written, operated);
  if (values['dry-run']) return showBefore(operation, target, values, operated, terminal);
  let options = given;
  const asks = operation.asks && !values.yes;
  const agreed = await confirmed(
    !asks,
    `${capital(operation.action)} the saga?`,
    async () => {
      // What is agreed to is what was shown.
      const { status } = await operated.sagas.get(target);
      options = { ...given, expects: given.expects ?? status };
      return [...(await aboutOne(operation, target, operated, terminal)), ''];
    },
    terminal,
  );
  if (!agreed) return EXIT.refused;
  await act(target, operated, options);
  return tellDone(`${operation.done} ${written}`, values.json, terminal);
}

async function showBefore(
  operation: Operation,
  target: SagaTarget,
  { json }: Values,
  operated: OperatorSession,
  terminal: Terminal,
): Promise<number> {
  if (!json) for (const line of await aboutOne(operation, target, operated, terminal)) terminal.out(line);
  else {
    const { id, saga, status } = await operated.sagas.get(target);
    const rollback = operation.turnsBack && withoutResults(await operated.sagas.previewRollback(target));
    terminal.out(JSON.stringify({ id, saga, status, ...(rollback && { rollback }) }, undefined, 2));
  }
  return EXIT.done;
}

async function aboutOne(
  { turnsBack }: Pick<Operation, 'turnsBack'>,
  target: SagaTarget,
  { sagas, running }: OperatorSession,
  terminal: Terminal,
): Promise<string[]> {
  const saga = await sagas.get(target);
  const head = headOf(saga, { paint: paintOn(terminal), now: running.engine.now() });
  return turnsBack ? [...head, '', ...rollbackLines(await sagas.previewRollback(target))] : head;
}

/** An action that is recorded until another operator repeats it is reported as an error, too. */
export function tellDone(done: string, json: boolean | undefined, terminal: Terminal): number {
  terminal.out(json ? JSON.stringify({ done: true }) : done);
  return EXIT.done;
}

function capital(word: string): string {
  return word[0]!.toUpperCase() + word.slice(1);
}

export { aboutOne };
