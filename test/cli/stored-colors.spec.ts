import { columns } from '../../libs/cli/src/text/columns.js';
import { paintOn } from '../../libs/cli/src/text/style.js';
import { harmless } from '../../libs/cli/src/terminal.js';
import { Saga, Step, StepRejectedError } from '../../libs/saga/src/index.js';
import { TestApps } from '../support/test-app.js';
import { sagaHereOn } from './support/saga-here.js';

const HOSTILE = '\x1b[8m\x1b[31mhidden\x1b[0m \x9b31m \x1b]8;;http://x\x07 \u202e\u2067 end';

@Saga({ name: 'place-order' })
class PlaceOrder {
  @Step() charge() {
    throw new StepRejectedError(`declined ${HOSTILE}`);
  }
}

const apps = TestApps.onOwnDatabase();

test('no stored text can color, hide, move or link anything in a terminal, whatever has it', async () => {
  const here = sagaHereOn(apps, { colors: true, columns: 500 });
  const { sagas } = await apps.start({ sagas: [PlaceOrder] });
  const options = { correlationId: `order ${HOSTILE}`, tags: { [`k ${HOSTILE}`]: `v ${HOSTILE}` } };
  const { id, outcome } = await sagas.start(PlaceOrder, { note: HOSTILE }, options);
  await outcome();
  const { id: waiting } = await sagas.start(PlaceOrder, {}, { delay: '1h' });
  await sagas.cancel(waiting, { by: `ann ${HOSTILE}`, reason: `why ${HOSTILE}` });
  for (const words of [
    'list',
    `show ${id} --payloads`,
    `show ${waiting}`,
    `history ${waiting}`,
    `watch ${id}`,
  ]) {
    const { out, error } = await here(words);
    expect(`${words}: ${out}${error}`).toContain('end');
    // What is painted by the command begins a color and ends it; of the stored texts nothing is left.
    // oxlint-disable-next-line no-control-regex -- which it may have
    const left = out.replace(/\x1b\[(1|2|22|3[1-4]|39)m/g, '');
    // oxlint-disable-next-line no-control-regex -- which it must not have
    expect(left + error).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    expect(out).not.toContain('\x1b[31mhidden');
    expect(out).not.toContain('\x1b[8m');
  }
  const { error } = await here('show', `place-order/${HOSTILE}`);
  // oxlint-disable-next-line no-control-regex -- which it must not have
  expect(error).not.toMatch(/\x1b/);
});

test('a cell cannot begin a line of its own', () => {
  const cells = ['a\nforged', 'b\r\nc', 'd\u2028e', 'f\u0085g', 'h\ti'];
  expect(columns([cells])).toEqual(['a forged  b  c  d e  f g  h i']);
});

test('a painted cell takes the room that it shows', () => {
  const paint = paintOn({ colors: true });
  const [first, second] = columns([
    [paint('red', 'stuck'), 'a'],
    ['ok', 'b'],
  ]);
  expect([harmless(first!), harmless(second!)]).toEqual(['\x1b[31mstuck\x1b[39m  a', 'ok     b']);
});
