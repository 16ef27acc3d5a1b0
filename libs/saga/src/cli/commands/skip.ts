import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { checkAskable, confirmed, YES_OPTION } from '../confirm.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { OPERATOR_OPTIONS, operatorOptionsOf } from '../operator.js';
import { readTarget, TARGET } from '../target.js';
import { JSON_SOURCES, readJson } from '../values.js';
import { aboutOne, tellDone } from './operate.js';

export const skip = command({
  words: 'skip',
  operands: [TARGET, '<step>'],
  summary: 'Marks the failed step or compensation of a stuck saga as completed manually',
  details: `If the saga goes forward, the step completes with the result of --result. If it compensates, the step is marked as compensated. --result is ${JSON_SOURCES}.`,
  examples: [`saga skip place-order/order-1234 chargeCard --result '{"payment":"manual-1"}'`],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    ...OPERATOR_OPTIONS,
    ...YES_OPTION,
    result: option.text('<json>', 'the result of the step'),
  },
  run: async ({ operands: [written, step], values, terminal }) => {
    checkAskable(values.yes, 'skip', terminal);
    const result = await readJson(values.result, '--result', terminal);
    const given = operatorOptionsOf(values, terminal);
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, (values.result && '--result') || (values.reason && '--reason'));
      const target = readTarget(written!, operated);
      let options = given;
      const about = async () => {
        const { status } = await operated.sagas.get(target);
        options = { ...given, expects: given.expects ?? status };
        return aboutOne({}, target, operated, terminal);
      };
      if (!(await confirmed(values.yes, `Mark '${step}' as completed manually?`, about, terminal)))
        return EXIT.refused;
      await operated.sagas.skip(target, step!, {
        ...options,
        ...(values.result !== undefined && { result }),
      });
      return tellDone(`Marked '${step}' of ${written} as completed manually`, values.json, terminal);
    });
  },
});
