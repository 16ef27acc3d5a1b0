import { log } from '../../../../../test/fixtures/run-of.js';
import { systemClock } from '../../shared/clock.js';
import type { StoredStepPause } from '../ports/step-pause.js';
import { StepPauses } from './step-pauses.js';

const paused = (step: string, given: Partial<StoredStepPause> = {}): StoredStepPause => ({
  ...{ saga: 'order', step, paused: { at: 1 }, isOver: false },
  ...given,
});

function scene() {
  const stored = { pauses: [] as StoredStepPause[], now: 0, reads: 0, fails: false };
  const observed: number[] = [];
  const woken: string[] = [];
  const changed: string[] = [];
  const pauses = new StepPauses({
    store: {
      pauses: {
        all: async () => {
          stored.reads += 1;
          if (stored.fails) throw new Error('down');
          return { pauses: [...stored.pauses], now: stored.now };
        },
        pause: async () => undefined,
        resume: async () => undefined,
        wake: async ({ step }) => void woken.push(step),
      },
      isTransient: () => true,
    },
    retry: { run: (call) => call() },
    clock: systemClock,
    storeClock: { observe: (now) => observed.push(now) },
    changed: (sagas) => changed.push(...sagas),
    log,
  });
  return { pauses, stored, woken, changed, observed };
}

describe('the paused steps that a process knows of', () => {
  test('are none at first, and known once they were read', async () => {
    const { pauses, stored } = scene();
    expect([pauses.of('order'), pauses.isKnown]).toEqual([undefined, false]);
    stored.fails = true;
    await expect(pauses.known()).rejects.toThrow('down');
    expect(pauses.isKnown).toBe(false);
    stored.fails = false;
    await pauses.known();
    await pauses.known();
    expect([pauses.isKnown, stored.reads]).toEqual([true, 2]);
  });

  test('change with each look, which says of which sagas, and not while nothing does', async () => {
    const { pauses, stored, changed } = scene();
    stored.pauses = [paused('charge'), paused('ship', { resumed: { at: 2 } })];
    pauses.look();
    await pauses.settled();
    expect([...pauses.of('order')!]).toEqual(['charge']);
    expect(pauses.of('other')).toBeUndefined();
    pauses.look();
    await pauses.settled();
    expect(changed).toEqual(['order']);
    stored.pauses = [];
    pauses.look();
    await pauses.settled();
    expect(pauses.of('order')).toBeUndefined();
    expect(changed).toEqual(['order', 'order']);
  });

  test('stay as they are while the store cannot be read', async () => {
    const { pauses, stored } = scene();
    stored.pauses = [paused('charge')];
    await pauses.known();
    stored.fails = true;
    pauses.look();
    await pauses.settled();
    expect(pauses.of('order')?.has('charge')).toBe(true);
  });

  test('a resume that another process has begun long ago is brought to its end', async () => {
    const { pauses, stored, woken } = scene();
    stored.now = 20_000;
    stored.pauses = [
      paused('charge', { resumed: { at: 1_000 } }),
      paused('ship', { resumed: { at: 19_000 } }),
    ];
    await pauses.known();
    expect(woken).toEqual(['charge']);
  });

  test('so is one whose process was lost before the clock of the database was set back', async () => {
    const { pauses, stored, woken } = scene();
    stored.now = 1_000;
    stored.pauses = [paused('charge', { resumed: { at: 3_600_000 } })];
    await pauses.known();
    expect(woken).toEqual(['charge']);
  });
});
