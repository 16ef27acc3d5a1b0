import { columns } from '../text/columns.js';
import { command, EXIT, JSON_OPTION } from '../command.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { describeOperation, withoutGiven } from '../../nest/views/describe-operation.js';
import { PAYLOADS_OPTION, seenHistory } from './show.js';
import { readTarget, TARGET } from '../target.js';

export const history = command({
  words: 'history',
  operands: [TARGET],
  summary: 'Shows the operator actions on a saga: operator, time and reason',
  examples: ['saga history place-order/order-1234'],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION, ...PAYLOADS_OPTION },
  run: async ({ operands: [written], values, terminal }) => {
    const entries = await operating(values, terminal, async (operated) => {
      const target = readTarget(written!, operated);
      const history = await operated.sagas.history(target);
      return values.payloads
        ? seenHistory(history, await operated.sagas.get(target), operated)
        : history.map(withoutGiven);
    });
    if (values.json) terminal.out(JSON.stringify(entries, undefined, 2));
    else if (entries.length === 0) terminal.error('No operator has acted on it');
    else
      for (const line of columns(entries.map((entry) => [entry.at.toISOString(), describeOperation(entry)])))
        terminal.out(line);
    return EXIT.done;
  },
});
