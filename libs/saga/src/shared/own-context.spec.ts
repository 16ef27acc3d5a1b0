import { AsyncLocalStorage } from 'node:async_hooks';
import { inOwnContext, isolated, withoutContext } from './own-context.js';

const context = new AsyncLocalStorage<string>();
const seen = () => context.getStore();

test('a call that is made in the own context makes further ones', async () => {
  const inner = inOwnContext(() => {
    const nested = inOwnContext(seen);
    return nested.then((store) => [store, 'nested']);
  });
  expect(await inner).toEqual([undefined, 'nested']);
  expect(await inOwnContext(() => 'later')).toBe('later');
});

test('a call has no value of its caller, nor what follows from it', async () => {
  const [now, later, sync] = await context.run('of the caller', async () => [
    await inOwnContext(seen),
    await inOwnContext(() => new Promise<void>((resolve) => setTimeout(resolve, 1)).then(seen)),
    withoutContext(seen),
  ]);
  expect([now, later, sync]).toEqual([undefined, undefined, undefined]);
});

test('the caller continues in its own context, also after an error', async () => {
  await context.run('of the caller', async () => {
    const failing = inOwnContext(() => {
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(seen()).toBe('of the caller');
  });
});

test('what a call enters ends with it', async () => {
  const enter = () => context.enterWith('entered');
  await inOwnContext(enter);
  withoutContext(enter);
  isolated(enter);
  expect([seen(), await inOwnContext(seen), withoutContext(seen)]).toEqual([undefined, undefined, undefined]);
});
