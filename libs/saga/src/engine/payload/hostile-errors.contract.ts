import fc from 'fast-check';
import { ENDLESS, hostileTexts, specimens } from './hostile-values.contract.js';

/** Something to be thrown. */
export interface Thrown {
  /** Shown by fast-check; what is thrown may itself throw at a look. */
  readonly [fc.toStringMethod]: () => string;
  readonly thrown: unknown;
}

const thrownAs = (name: string, thrown: unknown): Thrown => ({ [fc.toStringMethod]: () => name, thrown });

const fail = (): never => {
  throw new Error('no entry');
};
/** The stack first: it is made when it is first touched, and then asks for name and message. */
const FIELDS = ['stack', 'name', 'message', 'code', 'cause'];

const withGetters = (): Error => {
  const error = new Error('hidden');
  for (const field of FIELDS) Object.defineProperty(error, field, { get: fail });
  return error;
};
const circle = (): Error => {
  const [error, cause] = [new Error('outer'), new Error('inner')];
  error.cause = cause;
  cause.cause = error;
  return error;
};
const chain = (): Error => {
  let error = new Error('innermost');
  for (let n = 0; n < 10_000; n += 1) error = new Error(`level ${n}`, { cause: error });
  return error;
};
const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable(new Error('gone'), {});
  revoke();
  return proxy;
};

/** New ones each time. */
const ODDITIES: readonly (readonly [string, () => unknown])[] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['false', () => false],
  ['0', () => 0],
  ['NaN', () => NaN],
  ['1n', () => 1n],
  ['a symbol', () => Symbol('s')],
  ['a function', () => fail],
  ['a class', () => class Declined extends Error {}],
  ['a promise', () => Promise.resolve(1)],
  ['a thenable', () => ({ then: fail })],
  ['an error whose fields throw', withGetters],
  ['an error in the place of its own cause', circle],
  ['an error of 10,000 causes', chain],
  ['a revoked proxy', revoked],
  ['a proxy of an error', () => new Proxy(new Error('behind'), {})],
  ['a proxy that throws', () => new Proxy({}, { get: fail, has: fail, ownKeys: fail, getPrototypeOf: fail })],
  ['a toString that throws', () => ({ toString: fail, [Symbol.toPrimitive]: fail, [Symbol.toStringTag]: 1 })],
  ['a toJSON that throws', () => ({ toJSON: fail })],
  ['an inspect that throws', () => ({ [Symbol.for('nodejs.util.inspect.custom')]: fail, a: 1n })],
  ['a tag that throws', () => ({ get [Symbol.toStringTag]() { return fail(); }, a: 1n })], // prettier-ignore
  ['a million parts', () => Array<object>(1_000_000).fill({})],
  ['10 MB of text', () => 'x'.repeat(10 * 2 ** 20)],
  [
    '10 MB of message and stack',
    () => Object.assign(new Error('é'.repeat(10 * 2 ** 20)), { stack: '😀'.repeat(2 ** 20) }),
  ],
  ['an AggregateError', () => new AggregateError([new Error('a'), 1n], 'several')],
  ['an error without a prototype', () => Object.setPrototypeOf(new Error('bare'), null) as unknown],
  ['an error whose name is an error', () => Object.assign(new Error('no'), { name: new Error('name') })],
  // What the engine itself looks for, from someone else.
  [
    'the code of a deadlock',
    () => Object.assign(new Error('deadlock detected'), { code: '40P01', name: 'QueryFailedError' }),
  ],
  ['the message of a lost connection', () => new Error('Connection terminated unexpectedly')],
  ['a code that throws', () => Object.defineProperty(new Error('no'), 'code', { get: fail })],
  ['the name of an abort', () => new DOMException('This operation was aborted', 'AbortError')],
  ...ENDLESS,
];

/** fast-check itself looks at what it generates, so they are put into a box for a while. */
const hostileValues = specimens.map((given) => ({ hidden: () => given.value }));

const errors = fc
  .record({
    message: hostileTexts,
    name: fc.option(fc.oneof(hostileTexts, fc.constantFrom(7, null, Symbol('s'))), { nil: undefined }),
    code: fc.option(fc.oneof(hostileTexts, fc.double(), hostileValues), { nil: undefined }),
    cause: fc.option(fc.oneof(hostileTexts, hostileValues), { nil: undefined }),
    stack: fc.option(hostileTexts, { nil: undefined }),
    Type: fc.constantFrom(Error, TypeError, RangeError, class Declined extends Error {}),
  })
  .map(({ Type, message, ...fields }) => {
    const given = Object.fromEntries(
      Object.entries(fields).flatMap(([field, value]) =>
        value === undefined ? [] : [[field, unhidden(value)]],
      ),
    );
    return thrownAs(`${Type.name}(${JSON.stringify(message)})`, Object.assign(new Type(message), given));
  });

function unhidden(value: unknown): unknown {
  const isHidden = typeof value === 'object' && value !== null && 'hidden' in value;
  return isHidden ? (value.hidden as () => unknown)() : value;
}

/** Whatever a step may throw. */
export const thrownThings: fc.Arbitrary<Thrown> = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...ODDITIES).map(([name, make]) => thrownAs(name, make())) },
  { weight: 2, arbitrary: errors },
  { weight: 1, arbitrary: hostileTexts.map((text) => thrownAs(JSON.stringify(text), text)) },
  { weight: 1, arbitrary: specimens.map((given) => thrownAs(fc.stringify(given), given.value)) },
);

/** One of each. */
export const oddities = (): Thrown[] => ODDITIES.map(([name, make]) => thrownAs(name, make()));
