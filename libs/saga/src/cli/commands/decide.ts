import { type Command, command, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { BY_OPTION, userOf } from '../operator.js';
import { readTarget, TARGET } from '../target.js';
import { UsageError } from '../usage-error.js';

const CALLS = [
  { call: 'approve', summary: 'Approves a step that waits for approval', done: 'Approved' },
  {
    call: 'reject',
    summary: 'Rejects a step that waits for approval: the saga compensates',
    done: 'Rejected',
  },
] as const;

/** What an operator decides, now or before the saga has come there. */
export const decisions: readonly Command[] = CALLS.map(({ call, summary, done }) =>
  command({
    words: call,
    operands: [TARGET, '<step>'],
    summary,
    examples: [`saga ${call} place-order/order-1234 checkFraud --comment "invoice checked"`],
    options: {
      ...SAGA_OPTIONS,
      ...JSON_OPTION,
      ...BY_OPTION,
      comment: option.text('<text>', 'a comment, which is passed to the step'),
    },
    run: async ({ operands: [written, step], values, terminal }) => {
      const { comment, by = userOf(terminal) } = values;
      if (by === undefined) throw new UsageError('Give the operator who decides: --by <name>');
      return operating(values, terminal, async (operated) => {
        checkEncoded(operated, comment && '--comment');
        const target = readTarget(written!, operated);
        await operated.sagas[call](target, step!, { by, ...(comment !== undefined && { comment }) });
        terminal.out(values.json ? JSON.stringify({ done: true }) : `${done} '${step}' of ${written}`);
        return EXIT.done;
      });
    },
  }),
);
