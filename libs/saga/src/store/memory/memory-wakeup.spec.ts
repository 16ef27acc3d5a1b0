import type { WakeupMessage } from '../../engine/ports/wakeup.js';
import { MemoryWakeup, MemoryWakeupHub } from './memory-wakeup.js';

/** Runs after everything that was announced before it. */
const delivered = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('wakeups of one hub', () => {
  test('receive what any of them announces, in order', async () => {
    const hub = new MemoryWakeupHub();
    const received: WakeupMessage[][] = [[], []];
    const wakeups = [hub.wakeup(), hub.wakeup()] as const;
    await wakeups[0].start((message) => received[0]?.push(message));
    await wakeups[1].start((message) => received[1]?.push(message));
    wakeups[0].announceDue();
    hub.wakeup().announce({ type: 'look', id: '1' });
    await delivered();
    const expected = [{ type: 'due' }, { type: 'look', id: '1' }];
    expect(received).toEqual([expected, expected]);
  });

  test('receive nothing before the announcing call returns', async () => {
    const wakeup = new MemoryWakeup();
    const received: WakeupMessage[] = [];
    await wakeup.start((message) => received.push(message));
    wakeup.announceDue();
    expect(received).toEqual([]);
    await delivered();
    expect(received).toEqual([{ type: 'due' }]);
  });

  test('receive nothing once stopped, not even announcements already sent', async () => {
    const wakeup = new MemoryWakeup();
    const received: WakeupMessage[] = [];
    expect(wakeup.listening).toBe(false);
    await wakeup.start((message) => received.push(message));
    expect(wakeup.listening).toBe(true);
    wakeup.announceDue();
    await wakeup.stop();
    wakeup.announceDue();
    await delivered();
    expect({ received, listening: wakeup.listening }).toEqual({ received: [], listening: false });
  });

  test('may be given the same listener, and each calls it', async () => {
    const hub = new MemoryWakeupHub();
    const received: WakeupMessage[] = [];
    const listener = (message: WakeupMessage) => void received.push(message);
    const [a, b] = [hub.wakeup(), hub.wakeup()];
    await a.start(listener);
    await b.start(listener);
    await a.stop();
    b.announceDue();
    await delivered();
    expect(received).toEqual([{ type: 'due' }]);
  });
});
