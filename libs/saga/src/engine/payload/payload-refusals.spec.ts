import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { anyText } from '../../../../../test/fixtures/any-text.js';
import { cpuTimeOf } from '../../../../../test/fixtures/cpu-time.js';
import { nested, refusal } from '../../../../../test/fixtures/payload-refusal.js';

describe('a payload is refused', () => {
  class CustomError extends Error {}
  class Sealed {
    #cents = 500;
    cents() {
      return this.#cents;
    }
  }
  class Money {
    #cents = 500;
    get cents() {
      return this.#cents;
    }
  }
  const cycle: Record<string, unknown> = { a: { b: [] } };
  (cycle.a as { b: unknown[] }).b.push(cycle);
  const list: unknown[] = [];
  list.push(list);
  const sparse: unknown[] = [1];
  sparse[2] = 3;

  const refused: [string, unknown, string][] = [
    ['a bigint', { price: 10n }, 'input.price'],
    ['a boxed bigint', { price: Object(10n) as unknown }, 'input.price'],
    ['NaN', { lines: [{ price: 1 }, { price: NaN }] }, 'input.lines[1].price'],
    ['a boxed NaN', [Object(NaN)], 'input[0]'],
    ['Infinity', [0, [Infinity]], 'input[1][0]'],
    ['-Infinity', -Infinity, 'input'],
    ['a function', { onDone: () => {} }, 'input.onDone'],
    ['a class', { type: Date }, 'input.type'],
    ['a symbol', [Symbol('a')], 'input[0]'],
    ['a boxed symbol', [Object(Symbol('a'))], 'input[0]'],
    ['a cycle', cycle, 'input.a.b[0]'],
    ['an array in itself', list, 'input[0]'],
    ['a Map', { seats: new Map([[1, 2]]) }, 'input.seats'],
    ['a Set', { seats: new Set([1]) }, 'input.seats'],
    ['a WeakMap', new WeakMap(), 'input'],
    ['a WeakSet', new WeakSet(), 'input'],
    ['a Map of another realm', [runInNewContext('new Map()')], 'input[0]'],
    ['a RegExp', { pattern: /a/ }, 'input.pattern'],
    ['a Response', { answer: new Response('{}') }, 'input.answer'],
    ['Headers', { headers: new Headers({ a: 'b' }) }, 'input.headers'],
    ['URLSearchParams', { query: new URLSearchParams('a=1') }, 'input.query'],
    ['a FormData', { form: new FormData() }, 'input.form'],
    ['a Blob', { file: new Blob(['a']) }, 'input.file'],
    ['an iterator', { seats: new Map([[1, 2]]).values() }, 'input.seats'],
    ['a generator', [(function* () {})()], 'input[0]'],
    ['private fields behind a getter', { price: new Money() }, 'input.price'],
    ['private fields behind a method', { price: new Sealed() }, 'input.price'],
    ['private fields that are inherited', [new (class extends Money {})()], 'input[0]'],
    ['a Promise', { later: Promise.resolve(1) }, 'input.later'],
    ['an Error', { reason: new Error('no') }, 'input.reason'],
    ['an Error of one’s own', { reason: new CustomError('no') }, 'input.reason'],
    ['an Error of another realm', { reason: runInNewContext('new Error("no")') as unknown }, 'input.reason'],
    ['a Buffer', { file: Buffer.from('a') }, 'input.file'],
    ['a typed array', { file: new Float32Array(1) }, 'input.file'],
    ['a DataView', new DataView(new ArrayBuffer(1)), 'input'],
    ['an ArrayBuffer', { file: new ArrayBuffer(1) }, 'input.file'],
    ['a SharedArrayBuffer', { file: new SharedArrayBuffer(1) }, 'input.file'],
    ['undefined in an array', { tags: ['a', undefined] }, 'input.tags[1]'],
    ['a hole in an array', sparse, 'input[1]'],
    ['an array of nothing but holes', { tags: new Array(2 ** 32 - 1) }, 'input.tags[0]'],
    ['toJSON() that is undefined in an array', [{ toJSON: () => undefined }], 'input[0]'],
    ['a NUL', { name: 'a\0b' }, 'input.name'],
    ['a NUL in a boxed string', [Object('\0')], 'input[0]'],
    ['a NUL in a key', { 'a\0b': 1 }, String.raw`input["a\u0000b"]`],
    ['half of a surrogate pair', { name: '\ud83d' }, 'input.name'],
    ['the other half', ['a\ude00'], 'input[0]'],
    ['half of a surrogate pair in a key', { '\ud83d': 1 }, String.raw`input["\ud83d"]`],
    ['an invalid Date', { at: new Date(NaN) }, 'input.at'],
    ['a Date as what toJSON() returned', { at: { toJSON: () => new Date(0) } }, 'input.at'],
    ['what JSON cannot carry out of toJSON()', { at: { toJSON: () => ({ n: 1n }) } }, 'input.at.n'],
    ['a key that is no name', { 'a b': { '': 1n } }, 'input["a b"][""]'],
    ['a key in another script', { größe: { 数: NaN } }, 'input.größe.数'],
    ['a key named __proto__', JSON.parse('{"__proto__":"\\u0000"}'), 'input.__proto__'],
  ];

  it.each(refused)('for %s, with its path', (_, value, path) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.message.startsWith(path)).toBe(true);
    expect(error.code).toBe('SAGA_PAYLOAD');
  });

  it('with a message that can be stored itself', () => {
    for (const [, value] of refused) {
      const { message } = refusal(value);
      expect([message.includes('\0'), message.isWellFormed()]).toEqual([false, true]);
    }
  });

  it('with the path to the one wrong value, wherever it is', () => {
    const isName = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.nat(4), anyText()), { maxLength: 8 }), (keys) => {
        let value: unknown = 1n;
        for (const key of [...keys].reverse()) {
          value = typeof key === 'number' ? [...Array<number>(key).fill(0), value] : { [key]: value, z: 1 };
        }
        const path = keys.map((key) =>
          typeof key === 'string' && isName.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`,
        );
        // A key that is `z` itself is overwritten.
        fc.pre(!keys.includes('z'));
        expect(refusal(value).path).toBe(`input${path.join('')}`);
      }),
    );
  });

  it('beyond 500 levels, by its path and not by a full stack', () => {
    for (const depth of [501, 10_000, 200_000]) {
      const error = refusal(nested(depth));
      expect(error.message).toContain('500 levels');
      expect(error.path.startsWith('input')).toBe(true);
    }
  });

  it('when a boxed value never comes out of its box', () => {
    const box = Object('a') as { valueOf: () => unknown };
    box.valueOf = () => box;
    expect(refusal({ box }).message).toContain('a cycle');
    const boxes = (): object => Object.assign(Object('a') as object, { valueOf: boxes });
    expect(refusal({ box: boxes() }).message).toContain('500 levels');
  });

  it('when toJSON() goes on for ever', () => {
    const endless = (): object => ({ toJSON: () => ({ more: endless() }) });
    expect(refusal(endless()).message).toContain('500 levels');
  });
});

describe('a payload that would take forever is refused immediately', () => {
  /** Few objects, each twice in the one around it: 2 to the power of `levels` as JSON. */
  const doubled = (levels: number): unknown => {
    let value: unknown = { sku: 'a' };
    for (let n = 0; n < levels; n += 1) value = n % 2 === 0 ? [value, value] : { a: value, b: value };
    return value;
  };
  const ever = (): object => ({
    get left() {
      return ever();
    },
    get right() {
      return ever();
    },
  });
  const converted = (): object => ({ toJSON: () => [converted(), converted()] });
  const long = 'x'.repeat(2 ** 20);

  it.each<[string, unknown]>([
    ['objects within each other, again and again', doubled(60)],
    [
      'an array that says it has no end',
      new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 - 1 : 0) }),
    ],
    ['getters that give ever more', ever()],
    ['toJSON() that gives ever more', converted()],
    ['one long text, again and again', Array(100_000).fill(long)],
    ['one long key, again and again', Array(100_000).fill({ [long]: 1 })],
  ])('%s', (_, value) => {
    const time = cpuTimeOf(() => {
      expect(refusal(value, 10_000).message).toMatch(/maxPayloadBytes \(10000\)|500 levels/);
      expect(refusal({ order: [value] }, 2 ** 17).message).toMatch(/maxPayloadBytes|500 levels/);
    });
    expect(time).toBeLessThan(5_000);
  });

  it('with a path that is not for ever either', () => {
    const { path } = refusal({ [long]: { [long]: 1n } }, 2 ** 24);
    expect(path).toHaveLength(2 * ('[""]'.length + 201) + 'input'.length);
  });
});

describe('a payload that cannot be read is refused with its path', () => {
  const fail = () => {
    throw new Error('no entry');
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each<[string, unknown, string]>([
    [
      'a getter that throws',
      { order: Object.defineProperty({}, 'total', { get: fail, enumerable: true }) },
      'input.order.total',
    ],
    ['a toJSON() that throws', { at: { toJSON: fail } }, 'input.at'],
    [
      'a getter of toJSON that throws',
      [
        {
          get toJSON() {
            return fail();
          },
        },
      ],
      'input[0]',
    ],
    ['an element that throws', [Object.defineProperty([1], 0, { get: fail })], 'input[0][0]'],
    ['a proxy that throws', { a: new Proxy({}, { get: fail }) }, 'input.a'],
    ['a proxy whose keys throw', { a: new Proxy({}, { ownKeys: fail }) }, 'input.a'],
    ['a proxy whose prototype throws', [new Proxy({}, { getPrototypeOf: fail })], 'input[0]'],
    [
      'a proxy whose length throws',
      [[new Proxy([], { get: (_, key) => key === 'length' && fail() })]],
      'input[0][0]',
    ],
    ['a proxy that is revoked', { a: revoked.proxy }, 'input.a'],
    [
      'a boxed value whose valueOf() throws',
      Object.assign(Object('a') as object, { valueOf: fail }),
      'input',
    ],
  ])('%s', (_, value, path) => {
    const error = refusal(value);
    expect(error.path).toBe(path);
    expect(error.message).toContain('could not be');
  });

  it('even if what is thrown is no error', () => {
    const odd = Object.defineProperty(new Error(), 'message', { get: fail });
    for (const thrown of ['text', undefined, null, odd, Symbol('s'), Object.create(null)]) {
      const value = {
        get total() {
          throw thrown;
        },
      };
      expect(refusal(value).path).toBe('input.total');
    }
  });
});
