import fc from 'fast-check';
import { anyText } from '../../../../../../test/fixtures/any-text.js';
import { arrayLiteral } from './column-values.js';

/** As the manual of PostgreSQL has it: in quotes, a backslash before each quote and each backslash. */
const quoted = (text: string) => `{"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"}`;

test.each([
  '',
  'null',
  'NULL',
  'a b',
  '"',
  '\\',
  '\\n',
  'line\nbreak\ttab\u0001',
  '日本語 🚀 \u2028',
  '\ud83d',
  '{"a":"b\\"c"}',
])('an element is quoted as PostgreSQL reads it: %j', (text) => {
  expect(arrayLiteral([text], (value) => value)).toBe(quoted(text));
});

test('an element is quoted as PostgreSQL reads it, or needs no quotes, whatever it is', () => {
  const texts = fc.oneof(anyText({ withNul: true }), fc.string(), fc.json());
  fc.assert(
    fc.property(texts, (text) => {
      expect([`{${text}}`, quoted(text)]).toContain(arrayLiteral([text], (value) => value));
    }),
  );
});

test('an array of nothing is null, and of no rows is empty', () => {
  expect(arrayLiteral([1, 2], () => undefined)).toBeNull();
  expect(arrayLiteral([], () => undefined)).toBe('{}');
  expect(arrayLiteral([1, undefined, true], (value) => value)).toBe('{1,NULL,true}');
});
