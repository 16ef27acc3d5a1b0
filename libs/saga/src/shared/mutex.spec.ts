import { systemClock } from './clock.js';
import { Mutex } from './mutex.js';

test('a mutex lets in one at a time, in order of arrival', async () => {
  const mutex = new Mutex();
  const seen: string[] = [];
  const visit = async (name: string) => {
    const release = await mutex.acquire();
    seen.push(`${name} in`);
    await new Promise(setImmediate);
    seen.push(`${name} out`);
    release();
  };
  await Promise.all(['a', 'b', 'c'].map(visit));
  expect(seen).toEqual(['a in', 'a out', 'b in', 'b out', 'c in', 'c out']);
});

test('a mutex that is released twice still admits one waiter', async () => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  release();
  release();
  const next = await mutex.acquire();
  let third = false;
  void Promise.resolve(mutex.acquire()).then(() => (third = true));
  await new Promise(setImmediate);
  expect(third).toBe(false);
  next();
});

test('a waiter that timed out does not get the mutex later, and blocks no other waiter', async () => {
  const mutex = new Mutex();
  const release = await mutex.acquire();
  expect(await mutex.acquireWithin(5, systemClock)).toBeUndefined();
  const third = mutex.acquire();
  release();
  (await third)();
  await new Promise(setImmediate);
  expect(mutex.isFree).toBe(true);
});

test('a waiter admitted within its bound holds the mutex like any other', async () => {
  const mutex = new Mutex();
  const first = await mutex.acquireWithin(5, systemClock);
  const second = mutex.acquireWithin(60_000, systemClock);
  first!();
  const release = await second;
  expect(mutex.isFree).toBe(false);
  release!();
  expect(mutex.isFree).toBe(true);
});
