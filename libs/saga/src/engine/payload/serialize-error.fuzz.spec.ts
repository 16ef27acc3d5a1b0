import fc from 'fast-check';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { cpuTimeOf } from '../../../../../test/fixtures/cpu-time.js';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import { oddities, type Thrown, thrownThings } from '../../../../../test/fixtures/hostile-errors.js';
import { decodePayload, encodePayload } from './payload.js';
import { serializeError } from './serialize-error.js';

/** The longest serialized error without its causes, in characters. */
const LONGEST = { name: 200, message: 4_000, code: 200, stack: 8_000 };

function expectReadable(error: SerializedError, depth = 0): void {
  expect(Object.keys(error).every((key) => ['name', 'message', 'code', 'stack', 'cause'].includes(key))).toBe(
    true,
  );
  expect([typeof error.name, typeof error.message]).toEqual(['string', 'string']);
  for (const [field, longest] of Object.entries(LONGEST)) {
    const text = error[field as keyof typeof LONGEST];
    if (text !== undefined) expect(text.length).toBeLessThanOrEqual(longest + 1);
  }
  expect(depth).toBeLessThan(5);
  if (error.cause) expectReadable(error.cause, depth + 1);
}

function judge({ thrown }: Thrown): void {
  const serialized = serializeError(thrown);
  expectReadable(serialized);
  expect(decodePayload(encodePayload(serialized, 'error', 2 ** 20))).toStrictEqual(serialized);
}

describe('whatever is thrown', () => {
  it('is kept as an error that can be read and stored', () => {
    fc.assert(fc.property(thrownThings, judge), fuzz(1_000));
  });

  it.each(oddities().map((thrown) => [thrown[fc.toStringMethod](), thrown] as const))(
    'is kept soon: %s',
    (_, thrown) => {
      expect(cpuTimeOf(() => judge(thrown))).toBeLessThan(2_000);
    },
  );

  it('says something, where it has something to say', () => {
    const cycle: Record<string, unknown> = { status: 402 };
    cycle.self = cycle;
    for (const [thrown, said] of [
      [cycle, 'status: 402'],
      [{ total: 5n }, 'total: 5n'],
      [Array(10_000).fill(7), '7'],
    ] as const) {
      expect(serializeError(thrown).message).toContain(said);
    }
  });
});
