import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { cpuTimeOf } from './cpu-time.contract.js';
import { fuzz } from './fuzz-settings.contract.js';
import { ENDLESS, type Specimen, specimens } from './hostile-values.contract.js';
import { nested, refusal } from './payload-refusal.contract.js';
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

describe('the time that a value takes', () => {
  /** The shortest of two, the first of which may have warmed something up. */
  const timeOf = (work: () => void): number => Math.min(cpuTimeOf(work), cpuTimeOf(work));
  const encode = (value: unknown) => () => void encodePayload(value, 'input', 64 * MIB);

  it.each<[string, (n: number) => unknown]>([
    ['numbers', (n) => Array.from({ length: n }, (_, i) => i)],
    ['small objects', (n) => Array.from({ length: n / 4 }, (_, id) => ({ id, sku: 'a' }))],
    ['one wide object', (n) => Object.fromEntries(Array.from({ length: n / 4 }, (_, i) => [`k${i}`, i]))],
    [
      'small objects at the deepest level',
      (n) =>
        around(
          Array.from({ length: n / 4 }, () => ({})),
          490,
        ),
    ],
    ['text', (n) => 'é'.repeat(10 * n)],
  ])('grows as its size does: %s', (_, make) => {
    const [small, large] = [encode(make(20_000)), encode(make(200_000))];
    const floor = 5;
    expect(timeOf(large)).toBeLessThan(10 * 6 * Math.max(floor, timeOf(small)));
  });

  it('is short for what is far too deep, or far too large', () => {
    for (const value of [
      nested(10_000),
      nested(100_000),
      'x'.repeat(10 * MIB),
      Array<number>(10 * MIB).fill(0),
    ]) {
      expect(cpuTimeOf(() => void refusal(value))).toBeLessThan(2_000);
    }
  });
});

function around(value: unknown, levels: number): unknown {
  let whole = value;
  for (let n = 0; n < levels; n += 1) whole = [whole];
  return whole;
}
