import fc from 'fast-check';
import { SagaValidationError } from '../../errors.js';
import { LONGEST_TIMER, toMilliseconds } from './duration.js';

const CENTURY = 100 * 365 * 24 * 3_600_000;

describe('a duration', () => {
  it.each([
    [0, 0],
    [250, 250],
    [1.5, 1.5],
    ['0ms', 0],
    ['250ms', 250],
    ['10s', 10_000],
    ['1.5s', 1_500],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['36500d', CENTURY],
  ])('%j is %d milliseconds', (duration, milliseconds) => {
    expect(toMilliseconds(duration)).toBe(milliseconds);
  });

  it('in whole units is exact', () => {
    const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
    fc.assert(
      fc.property(fc.nat(36_500), fc.constantFrom(...Object.keys(units)), (count, unit) => {
        expect(toMilliseconds(`${count}${unit}`)).toBe(count * units[unit as keyof typeof units]);
      }),
    );
  });

  it.each<[unknown]>([
    ['soon'],
    [''],
    ['10'],
    ['10 s'],
    [' 10s'],
    ['10s\n'],
    ['-1s'],
    ['1e3ms'],
    ['.5s'],
    ['5.s'],
    ['1,5s'],
    ['10S'],
    ['10sec'],
    ['1h30m'],
    ['1w'],
    ['36501d'],
    ['9'.repeat(400) + 's'],
    [-1],
    [NaN],
    [Infinity],
    [CENTURY + 1],
    [undefined],
    [null],
    [true],
    [10n],
    [{}],
    [[1]],
    [Symbol('10s')],
    [() => 1],
  ])('is never made of %p', (wrong) => {
    expect(() => toMilliseconds(wrong)).toThrow(SagaValidationError);
  });

  it('that is wrong is refused with what it is for, what was given and what may be given', () => {
    expect(() => toMilliseconds('soon', 'timeout')).toThrow(/^timeout: 'soon' .*'250ms', '10s', '15m'/);
    expect(() => toMilliseconds(NaN, 'delay')).toThrow(/^delay: NaN /);
    expect(() => toMilliseconds(10n, 'delay')).toThrow(/^delay: 10n /);
  });

  it('may have a nearer bound', () => {
    expect(toMilliseconds(LONGEST_TIMER, 'lease', LONGEST_TIMER)).toBe(2 ** 31 - 1);
    expect(() => toMilliseconds(LONGEST_TIMER + 1, 'lease', LONGEST_TIMER)).toThrow(/0 to 2147483647/);
  });

  it('is milliseconds within a century, or refused, whatever it is made of', () => {
    fc.assert(
      fc.property(fc.anything(), (anything) => {
        let milliseconds: number;
        try {
          milliseconds = toMilliseconds(anything);
        } catch (error) {
          expect(error).toMatchObject({ code: 'SAGA_VALIDATION' });
          return;
        }
        expect(milliseconds).toBeGreaterThanOrEqual(0);
        expect(milliseconds).toBeLessThanOrEqual(CENTURY);
      }),
    );
  });
});
