import { AsyncLocalStorage } from 'node:async_hooks';
import { methodContextOf } from './ambient.js';

const context = new AsyncLocalStorage<string>();
const seen = () => Promise.resolve(context.getStore());

test('a method is called outside of the context in which its saga happens to run', async () => {
  const within = methodContextOf({})!;
  expect(await context.run('of the start', () => within({}, seen))).toBeUndefined();
});

test('a method is called in the context that run() makes, and in no other', async () => {
  const within = methodContextOf({ run: (tags, method) => context.run(tags.tenant!, method) })!;
  expect(await context.run('of the start', () => within({ tenant: 'acme' }, seen))).toBe('acme');
});

test('without ambient, nothing is wrapped', () => {
  expect(methodContextOf(undefined)).toBeUndefined();
});
