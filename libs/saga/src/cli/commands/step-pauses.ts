import type { PausedStep } from '../../nest/views/paused-step.js';
import { fromNow } from '../../shared/duration-text.js';
import { oneLine } from '../../shared/one-line.js';
import { type Command, command, DATABASE_OPTIONS, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { BY_OPTION, userOf } from '../operator.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { operating } from '../session.js';
import { columns } from '../text/columns.js';
import { lookOf, type Paint, paintOn } from '../text/style.js';

const OPTIONS = {
  ...SAGA_OPTIONS,
  ...JSON_OPTION,
  ...BY_OPTION,
  reason: option.text('<text>', 'the reason, which is kept'),
};

/** So many pauses that are over are listed with --all. */
const MOST_RESUMED = 100;

const pausedSteps = command({
  words: 'paused-steps',
  operands: [],
  summary: 'Lists the steps that operators have paused for all sagas of a name',
  examples: ['saga paused-steps', 'saga paused-steps --all --json'],
  options: {
    ...DATABASE_OPTIONS,
    ...JSON_OPTION,
    all: option.flag(`also the last ${MOST_RESUMED} pauses that are over`),
  },
  run: async ({ values, terminal }) =>
    operating(values, terminal, async ({ sagas, running }) => {
      const { items } = await sagas.pausedSteps({ resumed: values.all ? MOST_RESUMED : 0 });
      const now = running.engine.now();
      const lines = () => columns(items.map((one) => rowOf(one, now, paintOn(terminal))));
      const text = items.length === 0 ? 'No paused steps' : lines().join('\n');
      terminal.out(values.json ? JSON.stringify(items, undefined, 2) : text);
      return EXIT.done;
    }),
});

const pauseStep = command({
  words: 'pause-step',
  operands: ['<saga>', '<step>'],
  summary: 'Pauses a step of all sagas of a name: no attempt of it begins until it is resumed',
  details:
    'Attempts in progress end normally. Compensations, deadlines, timeouts, other branches and operator actions continue.',
  examples: ['saga pause-step place-order charge --reason "payments are down"'],
  options: OPTIONS,
  run: async ({ operands: [saga, step], values, terminal }) => {
    const who = whoOf(values, userOf(terminal));
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, values.reason && '--reason');
      await operated.sagas.pauseStep(saga!, step!, who);
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Paused step ${step} of ${saga}`);
      return EXIT.done;
    });
  },
});

const resumeStep = command({
  words: 'resume-step',
  operands: ['<saga>', '<step>'],
  summary: 'Resumes a paused step: the sagas that wait for it continue',
  examples: ['saga resume-step place-order charge'],
  options: OPTIONS,
  run: async ({ operands: [saga, step], values, terminal }) => {
    const who = whoOf(values, userOf(terminal));
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, values.reason && '--reason');
      await operated.sagas.resumeStep(saga!, step!, who);
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Resumed step ${step} of ${saga}`);
      return EXIT.done;
    });
  },
});

export const stepPauseCommands: readonly Command[] = [pausedSteps, pauseStep, resumeStep];

function whoOf({ by, reason }: { by?: string; reason?: string }, user: string | undefined) {
  const name = by ?? user;
  return { ...(name !== undefined && { by: name }), ...(reason !== undefined && { reason }) };
}

function rowOf({ saga, step, since, by, reason, resumed }: PausedStep, now: number, paint: Paint): string[] {
  const paused = `${paint(lookOf('paused'), 'paused')} ${fromNow(since, now)}${byWhom(by, reason)}`;
  const over = resumed ? `resumed ${fromNow(resumed.at, now)}${byWhom(resumed.by, resumed.reason)}` : '';
  return [saga, step, paused, over];
}

function byWhom(by: string | undefined, reason: string | undefined): string {
  return `${by === undefined ? '' : ` by ${oneLine(by)}`}${reason === undefined ? '' : `: ${oneLine(reason)}`}`;
}
