import { command, EXIT, JSON_OPTION, option } from '../command.js';
import { checkEncoded } from '../codec-option.js';
import { operating } from '../session.js';
import { SAGA_OPTIONS } from '../operator-session.js';
import { readTarget, TARGET } from '../target.js';
import { JSON_SOURCES, readJson } from '../values.js';

export const signal = command({
  words: 'signal',
  operands: [TARGET, '<signal>', '[<payload>]'],
  summary: 'Sends a signal to a saga. A signal that arrives early is kept',
  details: `The payload is ${JSON_SOURCES}.`,
  examples: [`saga signal place-order/order-1234 payment-reply '{"paid":true}' --message-id bank-77`],
  options: {
    ...SAGA_OPTIONS,
    ...JSON_OPTION,
    'message-id': option.text('<id>', 'the id of the signal; a later signal with the same id is dropped'),
  },
  run: async ({ operands: [written, name, payload], values, terminal }) => {
    const given = await readJson(payload, '<payload>', terminal);
    const messageId = values['message-id'];
    return operating(values, terminal, async (operated) => {
      checkEncoded(operated, payload && '<payload>');
      const target = readTarget(written!, operated);
      await operated.sagas.signal(target, name!, given, messageId === undefined ? {} : { messageId });
      terminal.out(values.json ? JSON.stringify({ done: true }) : `Sent '${name}' to ${written}`);
      return EXIT.done;
    });
  },
});
