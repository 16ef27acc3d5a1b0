import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { anyText } from '../../../../../test/fixtures/any-text.js';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import { nested, refusal } from '../../../../../test/fixtures/payload-refusal.js';
import { decodePayload, encodePayload, samePayload } from './payload.js';

const MIB = 2 ** 20;
const encode = (value: unknown, maxBytes = MIB) => encodePayload(value, 'input', maxBytes);
const roundTrip = (value: unknown) => decodePayload(encode(value));

const strings = anyText();
const zeroed = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe('a payload that is accepted', () => {
  it('comes back as it was given', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), (value) => {
        // JSON has no -0, which is a defined change.
        expect(roundTrip(value)).toStrictEqual(zeroed(value));
      }),
    );
  });

  it('is exactly what JSON makes of it, or refused with a path, whatever it is', () => {
    const anything = fc.anything({
      key: fc.oneof(strings, fc.constantFrom('__proto__', 'constructor', 'toString', 'length', '0', '')),
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        try {
          expect(encode(value)).toBe(JSON.stringify(value));
        } catch (error) {
          expect(error).toMatchObject({ code: 'SAGA_PAYLOAD', path: expect.stringMatching(/^input/) });
        }
      }),
      fuzz(1_000),
    );
  });

  it('is decoded into a fresh copy each time', () => {
    const text = encode({ lines: [{ sku: 'a' }] });
    const first = decodePayload(text) as { lines: { sku: string }[] };
    first.lines[0]!.sku = 'changed';
    expect(decodePayload(text)).toEqual({ lines: [{ sku: 'a' }] });
  });

  it('may be undefined, which is stored as nothing', () => {
    expect(encode(undefined)).toBeUndefined();
    expect(decodePayload(undefined)).toBeUndefined();
  });

  it.each([[null], [true], [0], [''], ['text'], [[]], [{}], [1.5e300], [5e-324], [2 ** 53]])(
    'may be %j',
    (value) => {
      expect(roundTrip(value)).toStrictEqual(value);
    },
  );

  it('may hold one object in several places', () => {
    const address = { city: 'Bern' };
    expect(roundTrip({ from: address, to: address, via: [address] })).toEqual({
      from: address,
      to: address,
      via: [address],
    });
  });

  it('may be nested 500 levels deep', () => {
    expect(roundTrip(nested(499))).toEqual(nested(499));
  });

  it('keeps a key named __proto__ like any other, and changes no prototype', () => {
    const given = JSON.parse('{"__proto__":{"admin":true},"constructor":1,"a":{"__proto__":null}}') as object;
    const stored = roundTrip(given) as object;
    expect(JSON.stringify(stored)).toBe(JSON.stringify(given));
    expect(Object.keys(stored)).toEqual(['__proto__', 'constructor', 'a']);
    expect(Object.getPrototypeOf(stored)).toBe(Object.prototype);
    expect((stored as { admin?: boolean }).admin).toBeUndefined();
  });
});

describe('a payload is changed in defined ways only', () => {
  class Money {
    readonly currency = 'CHF';
    #secret = 1;
    constructor(readonly amount: number) {}
    get doubled() {
      return this.amount * 2 * this.#secret;
    }
    add() {}
  }
  class Empty {
    total() {}
  }
  const hidden = Object.defineProperty({ [Symbol('s')]: 1, shown: 1 }, 'hidden', {
    value: 1,
    enumerable: false,
  });

  it.each<[string, unknown, unknown]>([
    ['a Date is its ISO string', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['a Date inside is its ISO string', { at: [new Date(0)] }, { at: ['1970-01-01T00:00:00.000Z'] }],
    ['a URL is its text', { url: new URL('https://a.example/b') }, { url: 'https://a.example/b' }],
    [
      'what has toJSON() is what that returns',
      { toJSON: () => ({ at: new Date(0) }) },
      { at: new Date(0).toJSON() },
    ],
    [
      'toJSON() may be inherited',
      new (class {
        toJSON() {
          return [1];
        }
      })(),
      [1],
    ],
    ['toJSON() is called once', { toJSON: () => new Money(1) }, { currency: 'CHF', amount: 1 }],
    [
      'toJSON() of what toJSON() returns is not',
      { toJSON: () => ({ toJSON: 1, a: 1 }) },
      { toJSON: 1, a: 1 },
    ],
    ['a property whose toJSON() is undefined is left out', { a: { toJSON: () => undefined } }, {}],
    ['an undefined property is left out', { a: undefined, b: 1 }, { b: 1 }],
    ['a symbol key is left out, and so is what is not enumerable', hidden, { shown: 1 }],
    ['what is inherited is left out', Object.create({ inherited: 1 }), {}],
    ['an instance of a class without fields is a plain object', new Empty(), {}],
    ['an empty object of another realm is one', [runInNewContext('({})')], [{}]],
    ['a class instance is a plain object', new Money(5), { currency: 'CHF', amount: 5 }],
    ['an object without a prototype is a plain one', Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ['-0 is 0', [-0], [0]],
    ['boxed values are plain ones', [Object('a'), Object(1), Object(false)], ['a', 1, false]],
    ['a boxed value alone is a plain one', Object('a'), 'a'],
    ['elements of an array are all that is kept of it', Object.assign([1], { extra: 1 }), [1]],
  ])('%s', (_, given, stored) => {
    expect(roundTrip(given)).toStrictEqual(stored);
  });

  it('and may turn out to be undefined', () => {
    expect(encode({ toJSON: () => undefined })).toBeUndefined();
  });
});

describe('what was checked is what is stored', () => {
  it('even if a getter answers differently the second time', () => {
    let asked = 0;
    const shifty = {
      get value() {
        asked += 1;
        return asked === 1 ? 'good' : '\0';
      },
    };
    expect(roundTrip(shifty)).toEqual({ value: 'good' });
    expect(asked).toBe(1);
  });

  it('even if toJSON() answers differently the second time', () => {
    let asked = 0;
    expect(roundTrip({ at: { toJSON: () => ((asked += 1), asked === 1 ? 'good' : 1n) } })).toEqual({
      at: 'good',
    });
  });

  it('even if it is changed while it is read', () => {
    const order = {
      lines: [1, 2],
      get total() {
        order.lines.push(NaN);
        return 3;
      },
    };
    expect(roundTrip(order)).toEqual({ lines: [1, 2], total: 3 });
  });

  it('even if it is changed later', () => {
    const order = { lines: [1] };
    const text = encode(order);
    order.lines.push(2);
    expect(decodePayload(text)).toEqual({ lines: [1] });
  });
});

describe('the size limit', () => {
  it.each([
    ['ascii', 'a', 1],
    ['two bytes', 'é', 2],
    ['three bytes', '数', 3],
    ['four bytes', '😀', 4],
    ['escapes', '\n', 2],
    ['long escapes', '\u0001', 6],
  ])('counts the bytes of the JSON text, not characters: %s', (_, character, bytes) => {
    const text = character.repeat(100);
    expect(roundTrip(text)).toBe(text);
    expect(encode(text, 100 * bytes + 2)).toBe(JSON.stringify(text));
    const error = refusal(text, 100 * bytes + 1);
    expect(error.path).toBe('input');
    expect(error.message).toContain(`${100 * bytes + 2} bytes`);
    expect(error.message).toContain(`maxPayloadBytes (${100 * bytes + 1})`);
  });

  it('is exact for any text', () => {
    fc.assert(
      fc.property(strings, (text) => {
        const bytes = Buffer.byteLength(JSON.stringify(text));
        expect(encode(text, bytes)).toBe(JSON.stringify(text));
        expect(refusal(text, bytes - 1).path).toBe('input');
      }),
    );
  });

  it('holds for 10 MB, which pass under a limit that allows them', () => {
    const large = { file: 'x'.repeat(10 * MIB) };
    expect(refusal(large).message).toMatch(/^input has 10485\d{3} bytes/);
    expect(encode(large, 11 * MIB)).toHaveLength(10 * MIB + '{"file":""}'.length);
  });

  it('does not count what is left out', () => {
    expect(encode({ a: undefined }, 2)).toBe('{}');
  });
});

describe('two payloads are the same', () => {
  /** Returns a value with the keys of its objects the other way round. */
  const reordered = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reordered);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value).reverse();
    return Object.fromEntries(entries.map(([key, item]) => [key, reordered(item)]));
  };
  const texts = fc.jsonValue({ stringUnit: 'grapheme' }).map((value) => JSON.stringify(value));

  it('whatever the order of their keys and the spaces between', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const other = JSON.stringify(reordered(JSON.parse(text)), undefined, 2);
        expect(samePayload(text, other)).toBe(true);
      }),
    );
  });

  it.each<[string | undefined, string | undefined, boolean]>([
    [undefined, undefined, true],
    [undefined, 'null', false],
    ['null', undefined, false],
    ['1', '1.0', true],
    ['"1"', '1', false],
    ['[1,2]', '[2,1]', false],
    ['{"a":1}', '{"a":1,"b":null}', false],
    ['{"a":1}', '[["a",1]]', false],
    ['{}', '[]', false],
    ['{"0":1}', '[1]', false],
    ['{"b":1,"a":{"d":1,"c":2}}', '{"a":{"c":2,"d":1},"b":1}', true],
    ['{"__proto__":1,"a":2}', '{"a":2,"__proto__":1}', true],
    ['{"__proto__":1}', '{}', false],
    ['{"é":1,"z":2,"10":3,"9":4}', '{"9":4,"10":3,"z":2,"é":1}', true],
  ])('%s and %s: %s', (a, b, same) => {
    expect(samePayload(a, b)).toBe(same);
    expect(samePayload(b, a)).toBe(same);
  });

  it('only if their values are', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        let equal = true;
        try {
          expect(JSON.parse(a)).toStrictEqual(JSON.parse(b));
        } catch {
          equal = false;
        }
        expect(samePayload(a, b)).toBe(equal);
      }),
    );
  });
});
