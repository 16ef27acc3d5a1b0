import { command, JSON_OPTION, option } from '../command.js';
import { followSaga } from '../follow-saga.js';
import { operating, SAGA_OPTIONS } from '../operating.js';
import { readTarget, TARGET } from '../target.js';
import { readTime } from '../values.js';
import { exitOf } from '../text/words.js';

export const watch = command({
  words: 'watch',
  operands: [TARGET],
  summary: 'Follows a saga until it is settled',
  details:
    'Ends with 0 when it has completed; with 1 when it was undone or aborted, or needs a person; with 2 past --timeout. ' +
    '--json prints a line for each change.',
  examples: ['saga watch place-order/order-1234 --timeout 10m'],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    timeout: option.text('<duration>', 'for so long: 30s, 10m; default: as long as it takes'),
    interval: option.text('<duration>', 'between two looks; default: 500ms'),
  },
  run: async ({ operands: [written], values, terminal }) => {
    const options = {
      json: values.json,
      timeout: readTime(values.timeout, 'timeout'),
      interval: readTime(values.interval, 'interval'),
    };
    return operating(values, terminal, async (operated) =>
      exitOf(await followSaga(operated, readTarget(written!, operated), terminal, options)),
    );
  },
});
