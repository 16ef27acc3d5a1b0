import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { operating, SAGA_OPTIONS } from '../operating.js';
import { readTarget, TARGET } from '../target.js';
import { JSON_SOURCES, readJson } from '../values.js';

export const signal = command({
  words: 'signal',
  operands: [TARGET, '<signal>', '[<payload>]'],
  summary: 'Tells a saga something that one of its steps waits for, or will',
  details: `The payload is ${JSON_SOURCES}.`,
  examples: [`saga signal place-order/order-1234 payment-reply '{"paid":true}' --message-id bank-77`],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    'message-id': option.text('<id>', 'a signal with the same one is dropped, whenever it comes'),
  },
  run: async ({ operands: [written, name, payload], values, terminal }) => {
    const given = await readJson(payload, '<payload>', terminal);
    const messageId = values['message-id'];
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, payload && '<payload>');
      const target = readTarget(written!, operated);
      await operated.sagas.signal(target, name!, given, messageId === undefined ? {} : { messageId });
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Told ${written} '${name}'`);
      return EXIT.done;
    });
  },
});
