import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import { ENDLESS, type Specimen, specimens } from '../../../../../test/fixtures/hostile-values.js';
import { nested, refusal } from '../../../../../test/fixtures/payload-refusal.js';
import { decodePayload, encodePayload, samePayload } from './payload.js';

const MIB = 2 ** 20;

describe('any value', () => {
  it('is stored and read again exactly, with its keys in order, or refused by the path to its first flaw', () => {
    fc.assert(fc.property(specimens, judge), fuzz(2_000));
  });

  it('is the same as itself', () => {
    fc.assert(
      fc.property(
        specimens.filter(({ flaw }) => flaw === undefined),
        ({ value, stored }) => {
          const text = encodePayload(value, 'input', MIB);
          const again = stored === undefined ? undefined : JSON.stringify(stored, undefined, 2);
          expect(samePayload(text, again)).toBe(true);
        },
      ),
      fuzz(500),
    );
  });

  it.each(ENDLESS)('is refused as a whole, if there is no end to it: %s', (_, make) => {
    expect(refusal({ order: make() }, MIB / 8).path).toBe('input');
  });
});

function judge({ value, stored, flaw }: Specimen): void {
  if (flaw !== undefined) {
    const { path, message } = refusal(value);
    expect(path).toBe(`input${flaw}`);
    expect([message.isWellFormed(), message.includes('\0')]).toEqual([true, false]);
    return;
  }
  const text = encodePayload(value, 'input', MIB);
  const read = decodePayload(text);
  // Jest's own comparison looks at `constructor`, which is a key like any other here.
  expect(isDeepStrictEqual(read, stored)).toBe(true);
  expect(text).toBe(stored === undefined ? undefined : JSON.stringify(stored));
}

describe('what is read of a value', () => {
  const looksAt = (make: () => unknown): number => {
    let looks = 0;
    const value = watched(make(), () => (looks += 1));
    encodePayload(value, 'input', 64 * MIB);
    return looks;
  };

  it.each<[string, (n: number) => unknown]>([
    ['numbers', (n) => Array.from({ length: n }, (_, i) => i)],
    ['small objects', (n) => Array.from({ length: n }, (_, id) => ({ id, sku: 'a' }))],
    ['one wide object', (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k${i}`, i]))],
    [
      'small objects at the deepest level',
      (n) =>
        nestedIn(
          490,
          Array.from({ length: n }, () => ({ a: 1 })),
        ),
    ],
  ])('grows as its size does: %s', (_, make) => {
    const [none, small, large] = [0, 1_000, 10_000].map((n) => looksAt(() => make(n)));
    expect(large! - none!).toBe(10 * (small! - none!));
  });

  it.each<[string, () => unknown]>([
    ['what is far too deep', () => nested(100_000)],
    ['what is far too large', () => Array<number>(10 * MIB).fill(0)],
  ])('is no more than could be stored: %s', (_, make) => {
    let looks = 0;
    refusal(
      watched(make(), () => (looks += 1)),
      MIB,
    );
    expect(looks).toBeLessThan(4 * MIB);
  });

  it('is nothing of a text that is far too large', () => {
    expect(refusal('x'.repeat(20 * MIB)).path).toBe('input');
  });
});

/** A copy of a value that reports everything that is read of it. */
function watched(value: unknown, onLook: () => void): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get(target, key, receiver) {
      onLook();
      return watched(Reflect.get(target, key, receiver), onLook);
    },
    ownKeys(target) {
      onLook();
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(target, key) {
      onLook();
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
  });
}

function nestedIn(levels: number, value: unknown): unknown {
  let whole = value;
  for (let n = 0; n < levels; n += 1) whole = [whole];
  return whole;
}
