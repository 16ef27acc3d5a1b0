import { DrizzleQueryError } from 'drizzle-orm';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { anyText } from '../../../../../test/fixtures/any-text.js';
import { fuzz } from '../../../../../test/fixtures/fuzz-settings.js';
import type { SerializedError } from '../../definition/types/saga-failure.js';
import { StepRejectedError } from '../../errors.js';
import { decodePayload, encodePayload } from './payload.js';
import { serializeError } from './serialize-error.js';

const fail = () => {
  throw new Error('no entry');
};

/** Everything that is kept of an error, its causes included. */
function chain(error: SerializedError): SerializedError[] {
  return error.cause ? [error, ...chain(error.cause)] : [error];
}

function expectStorable(error: SerializedError): void {
  expect(decodePayload(encodePayload(error, 'error', 2 ** 20))).toStrictEqual(error);
}

describe('an error', () => {
  it('keeps its name, message, code, stack and cause', () => {
    const cause = Object.assign(new TypeError('socket closed'), { code: 'ECONNRESET' });
    const thrown = Object.assign(new Error('charging failed', { cause }), { code: 402 });
    expect(serializeError(thrown)).toEqual({
      name: 'Error',
      message: 'charging failed',
      code: '402',
      stack: thrown.stack,
      cause: { name: 'TypeError', message: 'socket closed', code: 'ECONNRESET', stack: cause.stack },
    });
  });

  it('of this package keeps its stable code', () => {
    expect(serializeError(new StepRejectedError('declined'))).toMatchObject({
      name: 'StepRejectedError',
      code: 'SAGA_STEP_REJECTED',
    });
  });

  it('of another realm is an error too', () => {
    expect(serializeError(runInNewContext('new RangeError("too far")'))).toMatchObject({
      name: 'RangeError',
      message: 'too far',
    });
  });

  it('has nothing where there was nothing', () => {
    const bare = Object.assign(new Error('bare'), { stack: undefined });
    expect(Object.keys(serializeError(bare))).toEqual(['name', 'message']);
    expect(serializeError(Object.assign(new Error('odd'), { code: { a: 1 } })).code).toBeUndefined();
    expect(serializeError(new Error('null', { cause: null })).cause).toBeUndefined();
  });

  it('keeps a cause that is no error', () => {
    for (const [cause, message] of [
      ['text', 'text'],
      [0, '0'],
      [false, 'false'],
      ['', ''],
    ] as const) {
      expect(serializeError(new Error('outer', { cause })).cause).toEqual({ name: 'NonError', message });
    }
  });

  it('keeps its causes up to a depth, so that one in a circle ends', () => {
    const circle = new Error('circle');
    circle.cause = circle;
    expect(chain(serializeError(circle))).toHaveLength(5);
  });
});

describe('what is thrown but is no error', () => {
  it.each<[string, unknown, SerializedError]>([
    ['text', 'declined', { name: 'NonError', message: 'declined' }],
    ['a number', 402, { name: 'NonError', message: '402' }],
    ['a bigint', 402n, { name: 'NonError', message: '402' }],
    ['a symbol', Symbol('no'), { name: 'NonError', message: 'Symbol(no)' }],
    ['undefined', undefined, { name: 'NonError', message: 'undefined' }],
    ['null', null, { name: 'NonError', message: 'null' }],
    ['an object', { status: 402 }, { name: 'NonError', message: '{"status":402}' }],
    ['an object with a message', { name: 'Declined', message: 'no' }, { name: 'Declined', message: 'no' }],
    [
      'an object whose message is no text',
      { message: [1] },
      { name: 'NonError', message: '{"message":[1]}' },
    ],
    ['an object whose name is no text', { name: 7, message: 'no' }, { name: 'NonError', message: 'no' }],
    ['an object without a prototype', Object.create(null), { name: 'NonError', message: '{}' }],
    ['an object that JSON cannot carry', { total: 1n }, { name: 'NonError', message: '{ total: 1n }' }],
    [
      'an object that is undefined as JSON',
      { toJSON: () => undefined },
      { name: 'NonError', message: 'object' },
    ],
  ])('is described: %s', (_, thrown, expected) => {
    expect(serializeError(thrown)).toEqual(expected);
  });

  it('is described even if it is a function', () => {
    expect(serializeError(function declined() {})).toMatchObject({ name: 'declined' });
    expect(serializeError(Object.assign(() => {}, { toString: fail })).message).toBe('function');
  });
});

describe('serializing never throws', () => {
  // The stack first: it is made when it is first touched, and then asks for name and message.
  const keys = ['stack', 'name', 'message', 'code', 'cause'];
  const hostile = keys.reduce((error, key) => Object.defineProperty(error, key, { get: fail }), new Error());
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();

  it.each([
    ['getters that throw', hostile],
    ['a cause whose getters throw', new Error('outer', { cause: hostile })],
    ['a proxy that throws at everything', new Proxy({}, { get: fail, ownKeys: fail, getPrototypeOf: fail })],
    ['a proxy that is revoked', revoked.proxy],
    ['a toJSON() that throws', { toJSON: fail }],
  ])('whatever its getters do: %s', (_, thrown) => {
    expectStorable(serializeError(thrown));
  });

  it('and gives what can be stored, whatever is thrown', () => {
    const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true });
    const texts = anyText({ withNul: true });
    const errors = fc
      .tuple(texts, texts, fc.oneof(texts, fc.integer(), anything), fc.oneof(texts, anything))
      .map(([message, name, code, cause]) => Object.assign(new Error(message, { cause }), { name, code }));
    fc.assert(
      fc.property(fc.oneof(anything, errors), (thrown) => expectStorable(serializeError(thrown))),
      fuzz(100),
    );
  });
});

describe('a text in an error', () => {
  it('loses what PostgreSQL cannot store, and nothing else', () => {
    const { message } = serializeError(new Error('a\0b\ud83dc😀'));
    expect(message).toBe('a␀b\ufffdc😀');
  });

  it('is cut where it is too long to be kept', () => {
    const long = new Error('x'.repeat(1_000_000));
    Object.assign(long, { name: 'n'.repeat(1_000), code: 'c'.repeat(1_000), stack: 's'.repeat(1_000_000) });
    const { name, message, code, stack } = serializeError(long);
    expect([name, message, code, stack].map((text) => text?.length)).toEqual([201, 4_001, 201, 8_001]);
    for (const text of [name, message, code, stack]) expect(text?.endsWith('…')).toBe(true);
  });

  it('is never cut into half of a character', () => {
    const { message } = serializeError(new Error('x' + '😀'.repeat(4_000)));
    expect(message.isWellFormed()).toBe(true);
    expectStorable(serializeError(new Error('x' + '😀'.repeat(4_000))));
  });
});

describe('an error of a layer of databases shows no parameters of its statement', () => {
  const IBAN = 'DE89370400440532013000';

  test('of Drizzle', () => {
    const cause = Object.assign(new Error('deadlock detected'), { code: '40P01' });
    const error = new DrizzleQueryError('insert into "booking" values ($1)', [IBAN], cause);
    const serialized = serializeError(error);
    expect(JSON.stringify(serialized)).not.toContain(IBAN);
    expect(serialized).toMatchObject({
      message: 'Failed query: insert into "booking" values ($1)',
      cause: { message: 'deadlock detected', code: '40P01' },
    });
  });

  test.each([
    [
      'an invalid call',
      'PrismaClientValidationError',
      `\nInvalid \`prisma.booking.create()\` invocation:\n\n{\n  data: {\n    iban: "${IBAN}"\n  }\n}\n\nUnknown argument \`ibann\`.`,
      'Invalid `prisma.booking.create()` invocation: Unknown argument `ibann`.',
    ],
    [
      'a statement',
      'PrismaClientKnownRequestError',
      `\nInvalid \`prisma.$executeRaw()\` invocation:\n\n\nRaw query failed. Code: \`23505\`. Message: \`Key (iban)=(${IBAN}) already exists.\``,
      'Invalid `prisma.$executeRaw()` invocation: Raw query failed. Code: `23505`. Message: ***',
    ],
  ])('of Prisma, of %s', (_, name, message, shown) => {
    const serialized = serializeError(Object.assign(new Error(message), { name }));
    expect(JSON.stringify(serialized)).not.toContain(IBAN);
    expect(serialized.message).toBe(shown);
  });
});
