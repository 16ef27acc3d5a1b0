import fc from 'fast-check';
import { Coder } from './coder.js';
import type { PayloadCodec, PayloadContext } from './payload-codec.js';

/** Not secret, but it can be seen what was done. */
const REVERSING: PayloadCodec = {
  encode: (text) => [...text].reverse().join(''),
  decode: (encoded) => [...encoded].reverse().join(''),
};
const coder = new Coder(REVERSING);
const plain = new Coder(undefined);
const CONTEXT: PayloadContext = { kind: 'result', sagaId: 's-1', step: 'charge' };
const given = (context: PayloadContext) => context;
const coderWith = (codec: Partial<PayloadCodec>) => new Coder({ ...REVERSING, ...codec });

const jsons = fc.oneof(
  fc.json(),
  fc.string().map((text) => JSON.stringify(`saga:coded:${text}`)),
);
const texts = fc.oneof(
  fc.string(),
  fc.tuple(fc.string(), fc.string()).map(([a, b]) => `${a}saga:coded:${b}`),
);

describe('with a codec', () => {
  test('every payload is JSON while it is stored, marked as encoded, and comes back as it was', () => {
    fc.assert(
      fc.property(jsons, (text) => {
        const stored = coder.encoding.json(text, given, CONTEXT);
        expect(JSON.parse(stored)).toMatch(/^saga:coded:/);
        expect(coder.decoding.json(stored, given, CONTEXT)).toBe(text);
      }),
    );
  });

  test('every text comes back as it was', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const stored = coder.encoding.text(text, given, CONTEXT);
        expect(stored).toMatch(/^saga:coded:/);
        expect(coder.decoding.text(stored, given, CONTEXT)).toBe(text);
      }),
    );
  });

  test('what was stored before there was one is read as it is', () => {
    for (const text of ['{"a":1}', '"x"', 'null']) {
      expect(coder.decoding.json(plain.encoding.json(text, given, CONTEXT), given, CONTEXT)).toBe(text);
      expect(coder.decoding.text(plain.encoding.text(text, given, CONTEXT), given, CONTEXT)).toBe(text);
    }
  });

  test('what only looks encoded is not taken for it', () => {
    for (const text of ['"saga:coded:x"', ' "saga:coded:x"', '  "saga:coded:x"']) {
      const stored = plain.encoding.json(text, given, CONTEXT);
      expect(JSON.parse(coder.decoding.json(stored, given, CONTEXT))).toBe('saga:coded:x');
      expect(coder.decoding.json(plain.decoding.json(stored, given, CONTEXT), given, CONTEXT)).toBe(stored);
    }
    expect(coder.decoding.text(plain.encoding.text('saga:coded:x', given, CONTEXT), given, CONTEXT)).toBe(
      ' saga:coded:x',
    );
  });

  test('it may leave a value as it is', () => {
    const choosy = coderWith({ encode: (text, { kind }) => (kind === 'message' ? undefined : text) });
    const message: PayloadContext = { kind: 'message', messageId: 'm-1' };
    expect(choosy.encoding.json('{"a":1}', given, message)).toBe('{"a":1}');
    expect(choosy.decoding.json(choosy.encoding.json('"saga:coded:x"', given, message), given, message)).toBe(
      ' "saga:coded:x"',
    );
    expect(choosy.encoding.json('1', given, CONTEXT)).toBe('"saga:coded:1"');
  });
});

describe('what cannot be decoded', () => {
  const stored = coder.encoding.json('"x"', given, CONTEXT);

  test('is an error that names the saga, the field, the reason and the key', () => {
    const error = Object.assign(new Error("the key 'k' is gone."), { keyId: 'k' });
    const decode = () => {
      throw error;
    };
    expect(() => coderWith({ decode }).decoding.json(stored, given, CONTEXT)).toThrow(
      expect.objectContaining({
        ...{ code: 'SAGA_CODEC', name: 'SagaCodecError', sagaId: 's-1', keyId: 'k', cause: error },
        message: "The result of step 'charge' of saga s-1 cannot be decoded: the key 'k' is gone.",
      }),
    );
  });

  test('is everything encoded where there is no codec', () => {
    expect(() => plain.decoding.json(stored, given, CONTEXT)).toThrow(
      "The result of step 'charge' of saga s-1 is encoded, but this process has no codec.",
    );
    expect(() => plain.decoding.text('saga:coded:x', given, { kind: 'message', messageId: 'm-1' })).toThrow(
      expect.objectContaining({
        ...{ code: 'SAGA_CODEC', sagaId: undefined },
        message: 'The payload of message m-1 is encoded, but this process has no codec.',
      }),
    );
  });

  test.each([[undefined], [Promise.resolve('1')], [Buffer.from('1')]])(
    'is what a codec makes %p of',
    (decoded) => {
      const decode = () => decoded as unknown as string;
      expect(() => coderWith({ decode }).decoding.json(stored, given, CONTEXT)).toThrow('load keys before');
    },
  );

  test('is what a codec without authentication makes something else of', () => {
    const decode = () => '{"half';
    expect(() => coderWith({ decode }).decoding.json(stored, given, CONTEXT)).toThrow(
      expect.objectContaining({ code: 'SAGA_CODEC', message: expect.stringContaining('not JSON') }),
    );
  });

  test('is an error, whatever the codec throws', () => {
    for (const thrown of [
      undefined,
      null,
      'gone',
      new Proxy(
        {},
        {
          get: () => {
            throw new Error('no');
          },
        },
      ),
    ]) {
      const decode = () => {
        // oxlint-disable-next-line typescript/only-throw-error -- codecs may
        throw thrown;
      };
      expect(() => coderWith({ decode }).decoding.json(stored, given, CONTEXT)).toThrow(
        expect.objectContaining({ code: 'SAGA_CODEC' }),
      );
    }
  });
});

test.each([[Promise.resolve('x')], [null], [1], ['a\0b'], ['\ud800']])(
  'what a codec encodes to %p is not stored',
  (encoded) => {
    const encode = () => encoded as unknown as string;
    expect(() => coderWith({ encode }).encoding.json('1', given, CONTEXT)).toThrow(
      expect.objectContaining({ code: 'SAGA_CODEC', message: expect.stringContaining('was encoded to') }),
    );
  },
);
