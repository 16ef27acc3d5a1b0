import type { SagaGraph } from '../../definition/graph/saga-graph.js';
import { SagaValidationError } from '../../errors.js';
import { keepRedacted } from './keep-redacted.js';

const graph = (redact: string[], name = 'order') => ({ name, redact }) as unknown as SagaGraph;
const kept = (given: unknown, stored: unknown, redact: string[], name?: string): unknown =>
  JSON.parse(keepRedacted(JSON.stringify(given), JSON.stringify(stored), graph(redact, name))!);
const STORED = {
  card: { number: '4711', holder: 'Ada' },
  lines: [
    { pin: '1', sku: 'a' },
    { pin: '2', sku: 'b' },
  ],
};
const PATHS = ['card.number', 'lines.*.pin'];

describe('an input that an operator has corrected', () => {
  test('has the stored values where it says [redacted], and otherwise what was given', () => {
    const given = {
      card: { number: '[redacted]', holder: 'Grace' },
      lines: [
        { pin: '[redacted]', sku: 'a' },
        { pin: '3', sku: 'c' },
      ],
    };
    expect(kept(given, STORED, PATHS)).toEqual({
      card: { number: '4711', holder: 'Grace' },
      lines: [
        { pin: '1', sku: 'a' },
        { pin: '3', sku: 'c' },
      ],
    });
  });

  test('may say [redacted] where nothing is', () => {
    expect(kept({ note: '[redacted]', card: { number: '1' } }, STORED, PATHS)).toEqual({
      note: '[redacted]',
      card: { number: '1' },
    });
  });

  test('may be redacted as a whole, and of a handler', () => {
    expect(kept('[redacted]', STORED, ['*'])).toEqual(STORED);
    const stored = { saga: 's', input: { token: 't' } };
    expect(kept({ saga: 's', input: { token: '[redacted]' } }, stored, ['token'], 'handler:pay')).toEqual(
      stored,
    );
  });

  test.each([
    ['a part that is not stored', { card: { number: '[redacted]' } }, { card: {} }, 'input.card.number'],
    [
      'an element of a list that has become shorter',
      { lines: [{ pin: '[redacted]' }] },
      STORED,
      'input.lines[0].pin',
    ],
    ['a part of what was a text', { card: { number: '[redacted]' } }, { card: '4711' }, 'input.card.number'],
  ])('is refused with the path for %s', (_, given, stored, path) => {
    expect(() => kept(given, stored, PATHS)).toThrow(SagaValidationError);
    expect(() => kept(given, stored, PATHS)).toThrow(`retry(): ${path} is '[redacted]', and no stored value`);
  });
});
