import type { WakeupMessage } from '../../engine/ports/wakeup.js';
import { MemoryWakeup, MemoryWakeupHub } from './memory-wakeup.js';

/** Runs after everything that was announced before it. */
const delivered = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('wakeups of one hub', () => {
  test('hear what any of them announces, in order', async () => {
    const hub = new MemoryWakeupHub();
    const heard: WakeupMessage[][] = [[], []];
    const wakeups = [hub.wakeup(), hub.wakeup()] as const;
    await wakeups[0].start((message) => heard[0]?.push(message));
    await wakeups[1].start((message) => heard[1]?.push(message));
    wakeups[0].announceDue();
    hub.wakeup().announce({ type: 'look', id: '1' });
    await delivered();
    const expected = [{ type: 'due' }, { type: 'look', id: '1' }];
    expect(heard).toEqual([expected, expected]);
  });

  test('hear nothing before the announcer has run on', async () => {
    const wakeup = new MemoryWakeup();
    const heard: WakeupMessage[] = [];
    await wakeup.start((message) => heard.push(message));
    wakeup.announceDue();
    expect(heard).toEqual([]);
    await delivered();
    expect(heard).toEqual([{ type: 'due' }]);
  });

  test('hear nothing once stopped, not even what was on its way', async () => {
    const wakeup = new MemoryWakeup();
    const heard: WakeupMessage[] = [];
    expect(wakeup.listening).toBe(false);
    await wakeup.start((message) => heard.push(message));
    expect(wakeup.listening).toBe(true);
    wakeup.announceDue();
    await wakeup.stop();
    wakeup.announceDue();
    await delivered();
    expect({ heard, listening: wakeup.listening }).toEqual({ heard: [], listening: false });
  });

  test('may be given the same listener, and each calls it', async () => {
    const hub = new MemoryWakeupHub();
    const heard: WakeupMessage[] = [];
    const listener = (message: WakeupMessage) => void heard.push(message);
    const [a, b] = [hub.wakeup(), hub.wakeup()];
    await a.start(listener);
    await b.start(listener);
    await a.stop();
    b.announceDue();
    await delivered();
    expect(heard).toEqual([{ type: 'due' }]);
  });
});
