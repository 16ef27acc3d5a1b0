import type { ObservedEvent } from '../../definition/types/observed-event.js';
import { EventObserver, MOST_CALLS } from './event-observer.js';
import { WorkInProgress } from '../life-cycle/work-in-progress.js';

const event: ObservedEvent = {
  ...{ type: 'completed', saga: 'order', version: 1, id: '1', correlationId: '1', tags: {} },
  ...{ at: new Date(0), status: 'completed' },
};

function observed(call: (event: ObservedEvent) => unknown, saga?: string) {
  const lines: string[] = [];
  const write = (message: string) => void lines.push(message);
  const log = { debug: write, log: write, warn: write, error: write };
  const ports = { log, work: new WorkInProgress() };
  return {
    ...{ lines, work: ports.work },
    observer: new EventObserver('Alerts.tell', ['completed', 'stuck'], saga, call, ports),
  };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('an observer', () => {
  test('receives the events that it observes, and no others', () => {
    const received: ObservedEvent[] = [];
    const { observer } = observed((event) => received.push(event), 'order');
    observer.observe(event);
    observer.observe({ ...event, saga: 'payment' });
    observer.observe({ ...event, type: 'paused' });
    expect(received).toEqual([event]);
  });

  test.each([
    ['throws', () => { throw new Error('no webhook'); }], // prettier-ignore
    ['rejects', () => Promise.reject(new Error('no webhook'))],
    ['returns what cannot be looked at', () => new Proxy({}, { get: () => { throw new Error('no webhook'); } })], // prettier-ignore
  ])('that %s is a line in the log that says which, and at what', async (_, call) => {
    const { observer, lines } = observed(call);
    observer.observe(event);
    await settled();
    expect(lines).toEqual(["Observer Alerts.tell failed at 'completed' of saga 1 (order): no webhook"]);
  });

  test('that hangs receives no more events than it can handle at once, and the log reports once how many it missed', async () => {
    const ends: (() => void)[] = [];
    const { observer, lines } = observed(() => new Promise<void>((resolve) => ends.push(resolve)));
    for (let n = 0; n < MOST_CALLS + 3; n += 1) observer.observe(event);
    expect(ends).toHaveLength(MOST_CALLS);
    expect(lines).toEqual([expect.stringContaining('Alerts.tell has 1000 calls in progress')]);
    ends[0]!();
    await settled();
    expect(lines[1]).toContain('Alerts.tell missed 3 event(s)');
    observer.observe(event);
    expect(ends).toHaveLength(MOST_CALLS + 1);
    expect(lines).toHaveLength(2);
  });

  test.each([
    ['returns', () => Promise.resolve()],
    ['fails', () => Promise.reject(new Error('no'))],
    [
      'is a thenable that throws',
      () => ({
        then() {
          throw new Error('hostile');
        },
      }),
    ],
  ])('is in progress until it %s', async (_, answer) => {
    let settle!: () => void;
    const asked = new Promise<void>((resolve) => (settle = resolve));
    const { observer, work } = observed(() => asked.then(answer));
    observer.observe(event);
    expect(work.size).toBe(1);
    settle();
    await work.settledWithin(60_000);
    expect(work.size).toBe(0);
  });
});
