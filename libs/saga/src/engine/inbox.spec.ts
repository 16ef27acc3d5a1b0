import { systemClock } from './clock.js';
import { Inbox } from './inbox.js';

describe('the reader of an inbox', () => {
  test('takes all that is there at once, in order', async () => {
    const inbox = new Inbox<number>(systemClock);
    expect(inbox.isEmpty).toBe(true);
    inbox.put(1);
    inbox.put(2);
    expect(inbox.isEmpty).toBe(false);
    expect(await inbox.take()).toEqual([1, 2]);
    expect(inbox.isEmpty).toBe(true);
  });

  test('waits for the first message', async () => {
    const inbox = new Inbox<number>(systemClock);
    const taken = inbox.take();
    inbox.put(1);
    inbox.put(2);
    expect(await taken).toEqual([1, 2]);
    const next = inbox.take();
    inbox.put(3);
    expect(await next).toEqual([3]);
  });

  test('waits no longer than it says', async () => {
    const inbox = new Inbox<number>(systemClock);
    expect(await inbox.take(1)).toEqual([]);
    expect(await inbox.take(-5)).toEqual([]);
    inbox.put(1);
    expect(await inbox.take(0)).toEqual([1]);
  });
});
