import type { OutboxMessage } from '../../definition/types/outbox-message.js';
import { outgoingMessage } from './outgoing-message.js';

const stored = (message: unknown, headers?: Record<string, string>) =>
  outgoingMessage(message as OutboxMessage, 'message', 1_000, { key: 'saga-1', headers });
const path = (message: unknown): unknown => {
  try {
    stored(message);
  } catch (error) {
    return [(error as { code: string }).code, (error as { path: string }).path];
  }
  return 'accepted';
};

test('a message gets the key and the headers of where it is published, and its topic as its type', () => {
  expect(stored({ topic: 'orders', payload: { a: 1 } }, { 'saga-id': '1' })).toEqual({
    topic: 'orders',
    key: 'saga-1',
    type: 'orders',
    payload: '{"a":1}',
    headers: { 'saga-id': '1' },
  });
});

test('what a message says itself wins', () => {
  const message = { topic: 't', key: 'k', type: 'Placed', payload: 1, headers: { traceparent: 'mine' } };
  expect(stored(message, { traceparent: 'other', 'saga-id': '1' })).toEqual({
    ...message,
    payload: '1',
    headers: { traceparent: 'mine', 'saga-id': '1' },
  });
});

test('a payload that is undefined is null', () => {
  expect(stored({ topic: 't' }).payload).toBe('null');
});

const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error('no');
    },
    ownKeys: () => [],
  },
);

test.each<[string, unknown, string]>([
  ['no object', 'orders', 'message'],
  ['a proxy that throws', hostile, 'message'],
  ['no topic', { payload: 1 }, 'message.topic'],
  ['an empty topic', { topic: '', payload: 1 }, 'message.topic'],
  ['a topic with NUL', { topic: 'a\0', payload: 1 }, 'message.topic'],
  ['an empty key', { topic: 't', key: '', payload: 1 }, 'message.key'],
  ['a key that is a number', { topic: 't', key: 1, payload: 1 }, 'message.key'],
  ['a key that is too long', { topic: 't', key: 'k'.repeat(256), payload: 1 }, 'message.key'],
  ['a type that is null', { topic: 't', type: null, payload: 1 }, 'message.type'],
  ['a bigint inside', { topic: 't', payload: { n: [1n] } }, 'message.payload.n[0]'],
  ['a payload that is too large', { topic: 't', payload: 'x'.repeat(2_000) }, 'message.payload'],
  ['headers that are an array', { topic: 't', headers: [] }, 'message.headers'],
  ['a header with a blank', { topic: 't', headers: { 'a b': '' } }, `message.headers['a b']`],
  ['a header without a name', { topic: 't', headers: { '': 'x' } }, `message.headers['']`],
  ['a header of its own', { topic: 't', headers: { Id: 'x' } }, `message.headers['Id']`],
  ['a header that is a number', { topic: 't', headers: { a: 1 } }, `message.headers['a']`],
  ['a header with a line break', { topic: 't', headers: { a: 'x\r\ny: z' } }, `message.headers['a']`],
  ['a header with NUL', { topic: 't', headers: { a: '\0' } }, `message.headers['a']`],
  ['a header with half a surrogate', { topic: 't', headers: { a: '\ud800' } }, `message.headers['a']`],
])('%s is refused, and its path is named', (_, message, expected) => {
  expect(path(message)).toEqual(['SAGA_PAYLOAD', expected]);
});
