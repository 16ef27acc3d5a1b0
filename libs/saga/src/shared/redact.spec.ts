import { redact } from './redact.js';

const CARD = { number: '4111', holder: 'Ada' };

describe('what a path names is never shown', () => {
  it.each<[string, string[], unknown, unknown]>([
    ['a field', ['number'], CARD, { number: '[redacted]', holder: 'Ada' }],
    ['a field of a field', ['card.number'], { card: CARD }, { card: { ...CARD, number: '[redacted]' } }],
    ['a whole branch', ['card'], { card: CARD, sku: 'desk' }, { card: '[redacted]', sku: 'desk' }],
    ['null, too', ['number'], { number: null }, { number: '[redacted]' }],
    [
      'a field of every item',
      ['lines.*.price'],
      { lines: [{ price: 1 }, { price: 2, n: 3 }] },
      { lines: [{ price: '[redacted]' }, { price: '[redacted]', n: 3 }] },
    ],
    ['one item', ['lines.1'], { lines: ['a', 'b'] }, { lines: ['a', '[redacted]'] }],
    [
      'any key',
      ['*.pin'],
      { a: { pin: 1 }, b: { pin: 2 } },
      { a: { pin: '[redacted]' }, b: { pin: '[redacted]' } },
    ],
    ['several', ['number', 'holder'], CARD, { number: '[redacted]', holder: '[redacted]' }],
    ['all of it', ['*'], CARD, { number: '[redacted]', holder: '[redacted]' }],
    ['all of what is no object', ['*'], 'secret', '[redacted]'],
    ['what has fewer levels than a star asks for', ['lines.*'], { lines: 'secret' }, { lines: '[redacted]' }],
    ['a key that every object has', ['constructor'], { constructor: 1 }, { constructor: '[redacted]' }],
    [
      'a key named __proto__',
      ['__proto__.pin'],
      JSON.parse('{"__proto__":{"pin":1,"a":2}}'),
      JSON.parse('{"__proto__":{"pin":"[redacted]","a":2}}'),
    ],
  ])('%s', (_, paths, value, seen) => {
    expect(JSON.stringify(redact(value, paths))).toBe(JSON.stringify(seen));
  });
});

describe('everything else is as it was', () => {
  it.each<[string, string[], unknown]>([
    ['without paths', [], CARD],
    ['where the path leads nowhere', ['card.number', 'number.digits'], CARD],
    ['what is no object', ['number'], 'text'],
    ['what is not there', ['*'], undefined],
    ['what lies deeper than the path is long', ['cards.number'], { cards: { main: CARD } }],
  ])('%s', (_, paths, value) => {
    expect(redact(value, paths)).toEqual(value);
  });

  it('and the value given is not changed', () => {
    const given = { card: { ...CARD } };
    redact(given, ['card.number']);
    expect(given).toEqual({ card: CARD });
  });
});
