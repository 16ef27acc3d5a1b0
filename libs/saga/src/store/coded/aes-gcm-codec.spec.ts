import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { anyText } from '../../../../../test/fixtures/any-text.js';
import { AesGcmCodec } from './aes-gcm-codec.js';
import type { PayloadContext } from './payload-codec.js';

const OLD = randomBytes(32);
const NEW = randomBytes(32);
const codec = new AesGcmCodec({ keys: { old: OLD, new: NEW }, current: 'new' });
const INPUT: PayloadContext = { kind: 'input', sagaId: '0190-1' };

const contexts: fc.Arbitrary<PayloadContext> = fc.record(
  {
    kind: fc.constantFrom('input', 'result', 'item', 'signal', 'error', 'reason', 'message', 'report'),
    sagaId: fc.string(),
    step: fc.string(),
    messageId: fc.string(),
  },
  { requiredKeys: ['kind'] },
);

describe('what AesGcmCodec encodes', () => {
  test('is decoded to the same text, whatever it is', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 2_000 }), contexts, (text, context) => {
        expect(codec.decode(codec.encode(text, context), context)).toBe(text);
      }),
    );
  });

  test('shows nothing of it, and is never the same twice', () => {
    const [a, b] = [codec.encode('"4111 1111"', INPUT), codec.encode('"4111 1111"', INPUT)];
    expect(a).not.toBe(b);
    for (const encoded of [a, b]) {
      expect(encoded).toMatch(/^1\.new\.[\w-]+$/);
      const body = Buffer.from(encoded.split('.')[2]!, 'base64url');
      expect(body).toHaveLength(12 + '"4111 1111"'.length + 16);
      expect(body.includes('4111')).toBe(false);
    }
  });

  test('cannot be changed in any bit without being noticed', () => {
    const [form, key, body] = codec.encode('"secret"', INPUT).split('.') as [string, string, string];
    const sealed = Buffer.from(body, 'base64url');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      const forged = [form, key, changed.toString('base64url')].join('.');
      expect(() => codec.decode(forged, INPUT)).toThrow(
        "it was not encoded with the key 'new' for this field",
      );
    }
  });

  test.each(['1.new.', '1.new.AAAA', '1.new.' + 'A'.repeat(37), '2.new.AAAA', 'new', '', '1.ne w.AAAA'])(
    'is not %j, and that is said',
    (encoded) => {
      expect(() => codec.decode(encoded, INPUT)).toThrow(/^it (is|was) not /);
    },
  );

  test.each(['kind', 'sagaId', 'step', 'messageId'] as const)('cannot be moved to another %s', (part) => {
    fc.assert(
      fc.property(contexts, contexts, (here, other) => {
        fc.pre((here[part] ?? '') !== (other[part] ?? ''));
        const encoded = codec.encode('"x"', here);
        expect(codec.decode(encoded, { ...here })).toBe('"x"');
        expect(() => codec.decode(encoded, { ...here, [part]: other[part] })).toThrow('for this field');
      }),
    );
  });
});

describe('keys', () => {
  test('that are not current still decode, and nothing is encoded by them', () => {
    const before = new AesGcmCodec({ keys: { old: OLD }, current: 'old' }).encode('"x"', INPUT);
    expect(codec.decode(before, INPUT)).toBe('"x"');
    expect(codec.encode('"x"', INPUT)).toMatch(/^1\.new\./);
  });

  test('that are not there are named, beside those that are', () => {
    const other = new AesGcmCodec({ keys: { old: OLD }, current: 'old' });
    const encoded = codec.encode('"x"', INPUT);
    expect(() => other.decode(encoded, INPUT)).toThrow(
      "the key 'new' is not configured; configured keys: old",
    );
    expect(() => other.decode(encoded, INPUT)).toThrow(expect.objectContaining({ keyId: 'new' }));
  });

  test('that are others under the same id are noticed', () => {
    const other = new AesGcmCodec({ keys: { new: OLD }, current: 'new' });
    expect(() => other.decode(codec.encode('"x"', INPUT), INPUT)).toThrow(
      expect.objectContaining({ keyId: 'new', message: expect.stringContaining('for this field') }),
    );
  });

  test('may be changed by their owner afterwards, such as to clear them', () => {
    const key = Buffer.from(NEW);
    const cleared = new AesGcmCodec({ keys: { new: key }, current: 'new' });
    key.fill(0);
    expect(codec.decode(cleared.encode('"x"', INPUT), INPUT)).toBe('"x"');
  });

  test.each([
    [{ keys: { a: randomBytes(16) }, current: 'a' }, "the key 'a' must be a Buffer of 32 bytes"],
    [{ keys: { a: 'secret' }, current: 'a' }, "the key 'a' must be a Buffer of 32 bytes"],
    [{ keys: { 'a.b': NEW }, current: 'a.b' }, "the key id 'a.b' must match"],
    [{ keys: { a: NEW }, current: 'b' }, "current is 'b'; give the id of a key"],
    [{ keys: {}, current: 'toString' }, "current is 'toString'; give the id of a key"],
    [{}, 'current is undefined; give the id of a key'],
  ])('are refused at start-up if they are wrong: %#', (options, problem) => {
    const create = () => new AesGcmCodec(options as ConstructorParameters<typeof AesGcmCodec>[0]);
    expect(create).toThrow(expect.objectContaining({ code: 'SAGA_CONFIGURATION' }));
    expect(create).toThrow(problem);
  });
});
