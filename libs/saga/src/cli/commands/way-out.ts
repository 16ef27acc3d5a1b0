import type { Duration } from '../../definition/options/duration.js';
import { givenTime } from '../../shared/given-time.js';
import type { AbandonOptions } from '../../nest/calls/saga-calls.js';
import type { OperatorOptions } from '../../nest/calls/operator-options.js';
import { command, EXIT, JSON_OPTION, option, type ValuesOf } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { operating } from '../session.js';
import { type OperatorSession, SAGA_OPTIONS } from '../operator-session.js';
import { OPERATOR_OPTIONS, operatorOptionsOf } from '../operator.js';
import type { SagaTarget } from '../../nest/calls/saga-calls.js';
import { readTarget, TARGET } from '../target.js';
import type { Terminal } from '../terminal.js';
import { JSON_SOURCES, readJson } from '../values.js';
import { aboutOne, tellDone } from './operate.js';

const OPTIONS = {
  ...SAGA_OPTIONS,
  ...JSON_OPTION,
  ...OPERATOR_OPTIONS,
  ...YES_OPTION,
  force: option.flag('also if another at-most-once step is in progress, whose outcome is unknown then'),
} as const;

const INTERRUPTS = 'The worker loses the lease of the saga, and other attempts in progress are interrupted.';

type Values = ValuesOf<typeof OPTIONS>;
type Options = OperatorOptions & AbandonOptions;

export const complete = command({
  words: 'complete',
  operands: [TARGET, '<step>'],
  summary: 'Marks a running or waiting step, or its compensation, as completed elsewhere',
  details: `${INTERRUPTS} --result is ${JSON_SOURCES}.`,
  examples: [`saga complete place-order/order-1234 chargeCard --result '{"payment":"manual-1"}'`],
  options: { ...OPTIONS, result: option.text('<json>', 'the result of the step') },
  run: async ({ operands: [written, step], values, terminal }) => {
    checkAskable(values.yes, 'complete', terminal);
    const result = await readJson(values.result, '--result', terminal);
    const given = values.result === undefined ? {} : { result };
    const texts = {
      question: `Mark '${step}' as completed elsewhere?`,
      done: `Marked '${step}' of ${written} as completed`,
    };
    return onStep(
      written!,
      { ...values, encoded: values.result && '--result' },
      terminal,
      texts,
      (operated, target, options) => operated.sagas.complete(target, step!, { ...options, ...given }),
    );
  },
});

export const abandonAttempt = command({
  words: 'abandon-attempt',
  operands: [TARGET, '<step>'],
  summary: 'Abandons an attempt in progress: its outcome is unknown from now on',
  details: `The next attempt follows, or the compensation if no retries are left. ${INTERRUPTS}`,
  examples: ['saga abandon-attempt place-order/order-1234 chargeCard --reason "the bank hangs"'],
  options: OPTIONS,
  run: async ({ operands: [written, step], values, terminal }) => {
    checkAskable(values.yes, 'abandon-attempt', terminal);
    const texts = {
      question: `Abandon the attempt of '${step}'?`,
      done: `Abandoned the attempt of '${step}' of ${written}`,
    };
    return onStep(written!, values, terminal, texts, (operated, target, options) =>
      operated.sagas.abandonAttempt(target, step!, options),
    );
  },
});

export const reschedule = command({
  words: 'reschedule',
  operands: [TARGET, '<step>', '<time>'],
  summary: 'Moves the end of a delay or of a wait, or the next attempt of a step',
  details: '<time> is an ISO date, or a duration from now such as 2h. A time in the past means at once.',
  examples: ['saga reschedule place-order/order-1234 remind 2026-12-24T08:00Z --reason "the date moved"'],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION, ...OPERATOR_OPTIONS },
  run: async ({ operands: [written, step, time], values, terminal }) => {
    const options = operatorOptionsOf(values, terminal);
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, values.reason && '--reason');
      const at = givenTime(time) as Date | Duration;
      await operated.sagas.reschedule(readTarget(written!, operated), step!, at, options);
      return tellDone(`Rescheduled '${step}' of ${written}`, values.json, terminal);
    });
  },
});

/** Shows the saga, asks, and acts on it as it was shown. */
async function onStep(
  written: string,
  values: Values & { readonly encoded?: string },
  terminal: Terminal,
  { question, done }: { question: string; done: string },
  act: (operated: OperatorSession, target: SagaTarget, options: Options) => Promise<void>,
): Promise<number> {
  const given = operatorOptionsOf(values, terminal);
  return operating(values, terminal, async (operated) => {
    checkEncoded(operated, values.encoded || (values.reason && '--reason'));
    const target = readTarget(written, operated);
    let options: Options = { ...given, ...(values.force && { force: true }) };
    const about = async () => {
      const { status } = await operated.sagas.get(target);
      options = { ...options, expects: given.expects ?? status };
      return aboutOne({}, target, operated, terminal);
    };
    if (!(await confirmed(values.yes, question, about, terminal))) return EXIT.refused;
    await act(operated, target, options);
    return tellDone(done, values.json, terminal);
  });
}
