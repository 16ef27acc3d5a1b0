import fc from 'fast-check';

/** A value to be stored, and what has to become of it. */
export interface Specimen {
  /** Shown by fast-check; the value itself may throw at a look. */
  readonly [fc.toStringMethod]: () => string;
  readonly value: unknown;
  /** It as it is stored and read again; undefined: left out. */
  readonly stored?: unknown;
  /** The path in it to the first part that cannot be stored; undefined: it can be. */
  readonly flaw?: string;
}

const specimen = (name: string, value: unknown, fate: { stored?: unknown; flaw?: string }): Specimen => ({
  [fc.toStringMethod]: () => name,
  value,
  ...fate,
});

/** What means something to SQL, to PostgreSQL's arrays and formats, to the driver, or to TypeORM. */
export const SQL_TEXTS = [
  ...[
    "'",
    '"',
    "''",
    '\\',
    '`',
    ';',
    ',',
    '--',
    '/*',
    '$1',
    '$$',
    '$function$',
    '$q$',
    '?',
    ':status',
    ':...status',
  ],
  ...[
    "'; DROP TABLE saga.instance; --",
    '" OR 1=1 --',
    "') ON CONFLICT DO NOTHING; --",
    "\\'; --",
    "E'\\x00'",
  ],
  ...[
    'NULL',
    'null',
    '{}',
    '{a,"b",NULL}',
    '[1]',
    '(,)',
    '%s %I %L',
    '%',
    '_',
    '@>',
    '\\u0000',
    '\\x00',
    '{"a":1}',
  ],
  ...[
    '\t',
    '\n',
    '\r\n',
    ' ',
    '\u007f',
    '\u0001',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\u200b',
    '\u202e',
    '\ufeff',
    '\ufffd',
  ],
  ...[
    'é',
    'e\u0301',
    'İ',
    'ß',
    '数',
    '😀',
    '👩‍👩‍👧',
    '\u{10ffff}',
    '__proto__',
    'constructor',
    'toString',
    'then',
    'NaN',
  ],
];

/** Well-formed and without NUL. */
export const storableTexts: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...SQL_TEXTS),
  fc.array(fc.constantFrom(...SQL_TEXTS), { maxLength: 5 }).map((parts) => parts.join('')),
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }).filter(isStorable),
);

/** Any at all. */
export const hostileTexts: fc.Arbitrary<string> = fc.oneof(
  { weight: 3, arbitrary: storableTexts },
  {
    weight: 1,
    arbitrary: fc
      .tuple(storableTexts, fc.constantFrom('\0', '\ud800', '\udfff', '\udc00\ud800'), storableTexts)
      .map((parts) => parts.join('')),
  },
);

export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

const text = (given: string): Specimen =>
  specimen(JSON.stringify(given), given, isStorable(given) ? { stored: given } : { flaw: '' });

const fail = (): never => {
  throw new Error('no entry');
};
const failWith = (thrown: unknown): never => {
  throw thrown;
};
const revoked = (target: object): object => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const cyclic = (): object => {
  const cycle: Record<string, unknown> = {};
  cycle.back = [cycle];
  return cycle;
};
const doubled = (): unknown => {
  let value: unknown = [];
  for (let n = 0; n < 60; n += 1) value = [value, value];
  return value;
};

/** New ones each time, since they may be changed; with the path in them at which they are refused. */
const REFUSED: readonly (readonly [string, () => unknown, string?])[] = [
  ['1n', () => 1n],
  ['Object(1n)', () => Object(1n) as unknown],
  ['NaN', () => NaN],
  ['Infinity', () => Infinity],
  ['-Infinity', () => -Infinity],
  ['a function', () => () => undefined],
  ['a class', () => class {}],
  ['an async function', () => async () => undefined],
  ['a symbol', () => Symbol('s')],
  ['a well-known symbol', () => Symbol.iterator],
  ['a Map', () => new Map([['a', 1]])],
  ['a Set', () => new Set([1])],
  ['a WeakMap', () => new WeakMap()],
  ['a RegExp', () => /a/g],
  ['an Error', () => new Error('no')],
  ['a Buffer', () => Buffer.from('a')],
  ['a typed array', () => new Uint8Array(2)],
  ['an ArrayBuffer', () => new ArrayBuffer(2)],
  ['an invalid Date', () => new Date(NaN)],
  ['a hole', () => new Array<number>(1), '[0]'],
  ['undefined in an array', () => [undefined], '[0]'],
  ['a cycle', cyclic, '.back[0]'],
  ['a getter that throws', () => ({ get a() { return fail(); } }), '.a'], // prettier-ignore
  ['a getter that throws nothing', () => ({ get a() { return failWith(undefined); } }), '.a'], // prettier-ignore
  ['a toJSON that throws', () => ({ toJSON: fail })],
  ['a toJSON that throws a revoked proxy', () => ({ toJSON: () => failWith(revoked({})) })],
  ['a getter that throws a revoked proxy', () => ({ get a() { return failWith(revoked({})); } }), '.a'], // prettier-ignore
  ['a toJSON that gives a bigint', () => ({ toJSON: () => [1n] }), '[0]'],
  ['a toJSON that gives a Date', () => ({ toJSON: () => new Date(0) })],
  ['a proxy that throws', () => new Proxy({}, { get: fail })],
  ['a proxy whose keys throw', () => new Proxy({}, { ownKeys: fail })],
  ['a proxy whose prototype throws', () => new Proxy({}, { getPrototypeOf: fail })],
  ['a revoked proxy', () => revoked({})],
  ['a revoked array', () => revoked([])],
];

/** Refused as a whole, wherever in it they are: there is no end to them. */
export const ENDLESS: readonly (readonly [string, () => unknown])[] = [
  ['arrays within each other', doubled],
  ['an array without end', () => new Proxy([], { get: (_, key) => (key === 'length' ? 2 ** 32 - 1 : 0) })],
];

const STORED: readonly (readonly [string, () => unknown, unknown])[] = [
  ['undefined', () => undefined, undefined],
  ['a toJSON that gives undefined', () => ({ toJSON: () => undefined }), undefined],
  ['null', () => null, null],
  ['-0', () => -0, 0],
  ['5e-324', () => 5e-324, 5e-324],
  ['2 ** 53', () => 2 ** 53, 2 ** 53],
  ['1.8e308', () => Number.MAX_VALUE, Number.MAX_VALUE],
  ['a Date', () => new Date(0), '1970-01-01T00:00:00.000Z'],
  ['the last Date', () => new Date(8.64e15), '+275760-09-13T00:00:00.000Z'],
  ['a URL', () => new URL('https://a.example/?b=1'), 'https://a.example/?b=1'],
  ['a boxed string', () => Object('a') as unknown, 'a'],
  ['a boxed false', () => Object(false) as unknown, false],
  ['an object with a symbol', () => ({ [Symbol('s')]: 1 }), {}],
  ['what looks like a promise', () => ({ then: 1 }), { then: 1 }],
  [
    'what looks like an error',
    () => ({ name: 'Error', message: 'no', stack: 'at' }),
    { name: 'Error', message: 'no', stack: 'at' },
  ],
  ['a getter', () => ({ get a() { return 1; } }), { a: 1 }], // prettier-ignore
  ['a proxy', () => new Proxy({ a: 1 }, {}), { a: 1 }],
  ['a sealed object', () => Object.freeze({ a: Object.seal([1]) }), { a: [1] }],
];

const leaves: fc.Arbitrary<Specimen> = fc.oneof(
  { weight: 4, arbitrary: storableTexts.map(text) },
  { weight: 1, arbitrary: hostileTexts.map(text) },
  {
    weight: 2,
    arbitrary: fc
      .double({ noNaN: true, noDefaultInfinity: true })
      .map((n) => specimen(String(n), n, { stored: n + 0 })),
  },
  { weight: 1, arbitrary: fc.boolean().map((b) => specimen(String(b), b, { stored: b })) },
  {
    weight: 3,
    arbitrary: fc.constantFrom(...STORED).map(([name, make, stored]) => specimen(name, make(), { stored })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...REFUSED).map(([name, make, flaw = '']) => specimen(name, make(), { flaw })),
  },
);

const keys = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'a',
      'b',
      '0',
      '10',
      '__proto__',
      'constructor',
      'toString',
      'length',
      'größe',
      '',
    ),
  },
  { weight: 3, arbitrary: storableTexts },
  { weight: 1, arbitrary: hostileTexts },
);
// A `toJSON` that is no function is a property like any other.

type Build = (entries: readonly (readonly [string, Specimen])[]) => object;

const define = (target: object, entries: Parameters<Build>[0]): object => {
  for (const [key, { value }] of entries)
    Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  return target;
};
const RECORDS: readonly (readonly [string, Build])[] = [
  ['object', (entries) => define({}, entries)],
  ['object without prototype', (entries) => define(Object.create(null) as object, entries)],
  ['instance', (entries) => define(new (class Order { total() {} })(), entries)], // prettier-ignore
  ['proxy', (entries) => new Proxy(define({}, entries), {})],
  ['getters', (entries) => {
    const target = {};
    for (const [key, { value }] of entries)
      Object.defineProperty(target, key, { get: () => value, enumerable: true, configurable: true });
    return target;
  }], // prettier-ignore
];

function record([kind, build]: (typeof RECORDS)[number], entries: [string, Specimen][]): Specimen {
  const value = build(entries);
  const parts = new Map(entries);
  const stored = {};
  for (const key of Object.keys(value)) {
    const part = parts.get(key)!;
    const step = /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    if (!isStorable(key)) return named(kind, entries, value, { flaw: step });
    if (part.flaw !== undefined) return named(kind, entries, value, { flaw: step + part.flaw });
    if (part.stored !== undefined) define(stored, [[key, specimen('', part.stored, {})]]);
  }
  return named(kind, entries, value, { stored });
}

function named(
  kind: string,
  entries: [string, Specimen][],
  value: unknown,
  fate: { stored?: unknown; flaw?: string },
): Specimen {
  const parts = entries.map(([key, part]) => `${JSON.stringify(key)}: ${fc.stringify(part)}`);
  return specimen(`${kind} { ${parts.join(', ')} }`, value, fate);
}

function array(items: Specimen[]): Specimen {
  const name = `[${items.map((item) => fc.stringify(item)).join(', ')}]`;
  const value = items.map((item) => item.value);
  const wrong = items.findIndex(({ flaw, stored }) => flaw !== undefined || stored === undefined);
  if (wrong >= 0) return specimen(name, value, { flaw: `[${wrong}]${items[wrong]!.flaw ?? ''}` });
  return specimen(name, value, { stored: items.map(({ stored }) => stored) });
}

/** Values of every kind, and of such in each other. */
export const specimens: fc.Arbitrary<Specimen> = fc.letrec<{ value: Specimen; container: Specimen }>(
  (tie) => ({
    value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaves, tie('container')),
    container: fc.oneof(
      fc.array(tie('value'), { maxLength: 4 }).map(array),
      fc
        .tuple(
          fc.constantFrom(...RECORDS),
          fc.uniqueArray(fc.tuple(keys, tie('value')), { maxLength: 4, selector: ([key]) => key }),
        )
        .map(([kind, entries]) => record(kind, entries)),
      fc
        .array(tie('value'), { maxLength: 3 })
        .map(array)
        .map(({ value, ...made }) =>
          specimen(`toJSON of ${made[fc.toStringMethod]()}`, { toJSON: () => value }, made),
        ),
    ),
  }),
).value;
