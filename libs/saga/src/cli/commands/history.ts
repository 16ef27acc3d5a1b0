import { columns } from '../columns.js';
import { command, EXIT, JSON_OPTION } from '../command.js';
import { textOf } from '../history-text.js';
import { operating, SAGA_OPTIONS } from '../operating.js';
import { readTarget, TARGET } from '../target.js';

export const history = command({
  words: 'history',
  operands: [TARGET],
  summary: 'Shows what people did with a saga: who, when and why',
  examples: ['saga history place-order/order-1234'],
  options: { ...SAGA_OPTIONS, ...JSON_OPTION },
  run: async ({ operands: [written], values, terminal }) => {
    const entries = await operating(values, terminal, (operated) =>
      operated.sagas.history(readTarget(written!, operated)),
    );
    if (values.json) terminal.out(JSON.stringify(entries, undefined, 2));
    else if (entries.length === 0) terminal.error('Nobody did anything with it');
    else
      for (const line of columns(entries.map((entry) => [entry.at.toISOString(), textOf(entry)])))
        terminal.out(line);
    return EXIT.done;
  },
});
