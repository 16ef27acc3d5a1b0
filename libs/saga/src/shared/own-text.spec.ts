import { collectGarbage } from '../../../../test/support/collect-garbage.js';
import { serializeError } from '../engine/payload/serialize-error.js';
import { withMethodStacks } from '../engine/attempt/attempt-runner.js';
import { ownText } from './own-text.js';

const MB = 2 ** 20;

/** Heap (MB) that stays in use for twenty of what `make` returns. */
function kept(make: () => unknown): number {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const made = Array.from({ length: 20 }, make);
  collectGarbage();
  const after = process.memoryUsage().heapUsed;
  expect(made).toHaveLength(20);
  return (after - before) / MB;
}

const large = () => 'x'.repeat(MB);

test.each([
  ['a part of it', () => ownText(large().slice(0, 1_000))],
  ['the message of an error, cut to what is stored', () => serializeError({ name: 'E', message: large() })],
  [
    'a stack that ends at the method',
    () =>
      withMethodStacks({
        name: 'E',
        message: 'm',
        stack: `E: m\n    at pay\n    at callSagaMethod\n${large()}`,
      }),
  ],
])('a long text is not kept in memory for %s', (_, make) => {
  // 20 MB without it. RegExp refers to the last text that it was used on.
  expect(kept(make)).toBeLessThan(3);
});

test('a text of its own is the same text', () => {
  for (const text of ['', 'a', 'Größe', '\u{1f600}', 'x'.repeat(5_000)]) expect(ownText(text)).toBe(text);
});
