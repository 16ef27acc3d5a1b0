import type { WakeupMessage } from '../../libs/saga/src/engine/ports/wakeup.js';
import { eventually, held, type StoreSubject } from './store-subject.contract.js';

export function describeWakeups(subject: () => StoreSubject): void {
  test('a process that listens receives what the store and other processes announce, until it stops', async () => {
    const { store, wakeup } = subject();
    const received: WakeupMessage[] = [];
    expect(wakeup.listening).toBe(false);
    await wakeup.start((message) => received.push(message));
    // It listens once it has received itself, which is after `start` where other processes carry hints.
    await eventually(() => expect(wakeup.listening).toBe(true));
    wakeup.announceDue();
    const { id } = await held(store);
    await store.edit({ id }, () => ({ requestCancel: {} }));
    await eventually(() =>
      expect(received).toEqual(expect.arrayContaining([{ type: 'due' }, { type: 'look', id }])),
    );
    await wakeup.stop();
    expect(wakeup.listening).toBe(false);
    const before = received.length;
    const announced = subject().messages.length;
    await store.edit({ id }, () => ({ requestPause: true }));
    await eventually(() => expect(subject().messages.slice(announced)).toContainEqual({ type: 'look', id }));
    expect(received).toHaveLength(before);
  });
}
