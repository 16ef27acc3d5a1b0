import { LONGEST_TIMER } from '../../definition/options/duration.js';
import { systemClock } from '../../shared/clock.js';
import { RunInbox } from './inbox.js';

describe('the reader of an inbox', () => {
  test('takes all that is there at once, in order', () => {
    const inbox = new RunInbox<number>(systemClock);
    expect(inbox.isEmpty).toBe(true);
    inbox.put(1);
    inbox.put(2);
    expect(inbox.isEmpty).toBe(false);
    expect(inbox.take()).toEqual([1, 2]);
    expect(inbox.isEmpty).toBe(true);
  });

  test('waits for the first message', async () => {
    const inbox = new RunInbox<number>(systemClock);
    const arrival = inbox.arrival();
    inbox.put(1);
    inbox.put(2);
    await arrival;
    expect(inbox.take()).toEqual([1, 2]);
    const next = inbox.arrival(LONGEST_TIMER);
    inbox.put(3);
    await next;
    expect(inbox.take()).toEqual([3]);
  });

  test('waits no longer than it says', async () => {
    const inbox = new RunInbox<number>(systemClock);
    await inbox.arrival(1);
    await inbox.arrival(-5);
    expect(inbox.take()).toEqual([]);
    inbox.put(1);
    expect(inbox.take()).toEqual([1]);
  });
});
