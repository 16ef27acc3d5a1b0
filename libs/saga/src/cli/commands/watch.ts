import { command, JSON_OPTION, option } from '../command.js';
import { followSaga } from '../follow-saga.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { readTarget, TARGET } from '../target.js';
import { readTime } from '../values.js';
import { exitOf } from '../text/format.js';

export const watch = command({
  words: 'watch',
  operands: [TARGET],
  summary: 'Follows a saga until it ends or needs attention',
  details:
    'Exit code: 0 if it completed; 1 if it was compensated or aborted, or needs attention; 2 after --timeout. ' +
    '--json prints a line for each change.',
  examples: ['saga watch place-order/order-1234 --timeout 10m'],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    timeout: option.text('<duration>', 'the maximum time to wait: 30s, 10m; default: no limit'),
    interval: option.text('<duration>', 'the time after which it is drawn again; default: 500ms'),
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
