import { graphOf, stepOf } from '../../../../../test/fixtures/graph-of.js';
import { gate, portsTo, runOf, SAGA } from '../../../../../test/fixtures/run-of.js';
import { evolve } from '../../machine/evolve.js';
import { INITIAL, type SagaState } from '../../machine/saga-state.js';
import { systemClock } from '../../shared/clock.js';
import type { Checkpoint } from '../ports/checkpoint.js';
import { SLOT_KEPT_MS } from '../ports/step-slots.js';
import { RunSlots } from './run-slots.js';
import type { SagaRunPorts } from './saga-run-ports.js';

const work = stepOf('work', { limit: { count: 1 } });
const limited = graphOf(work, stepOf('other'));
const waiting = evolve(limited, INITIAL, { type: 'slot-awaited', step: 'work', now: 0 });

/** The slots of a limit, of which others may have all. */
function slotsOf(free: number) {
  const taken = new Set<string>();
  let calls = 0;
  return {
    free,
    get calls() {
      return calls;
    },
    async takeSlots(_limit, _holder, steps) {
      calls += 1;
      for (const step of steps) if (taken.has(step) || taken.size < this.free) taken.add(step);
      return steps.filter((step) => taken.has(step));
    },
    async freeSlots(_limit, _holder, steps) {
      for (const step of steps) taken.delete(step);
      return true;
    },
  } satisfies Partial<SagaRunPorts> & { free: number; readonly calls: number };
}

describe('a saga that waits for a slot', () => {
  test('asks for it when a worker takes the saga, since the store may have called', async () => {
    const called: string[] = [];
    const slots = slotsOf(1);
    const run = runOf({ ...SAGA, state: waiting }, limited, (method) => void called.push(method), {
      ...portsTo([]),
      takeSlots: slots.takeSlots.bind(slots),
      freeSlots: slots.freeSlots,
    });
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(called).toContain('work');
  });

  test('asks for it when the store calls during a run, and does not come to rest before', async () => {
    const called: string[] = [];
    const [begun, ends] = [gate(), gate()];
    const slots = slotsOf(0);
    const invoke = async (method: string) => {
      called.push(method);
      if (method !== 'other') return;
      begun.open();
      await ends.passed;
    };
    const run = runOf(SAGA, limited, invoke, {
      ...portsTo([]),
      takeSlots: slots.takeSlots.bind(slots),
      freeSlots: slots.freeSlots,
    });
    const ended = run.advance();
    await begun.passed;
    await new Promise((resolve) => setImmediate(resolve));
    expect([slots.calls, called]).toEqual([1, ['other']]);
    slots.free = 1;
    run.look();
    ends.open();
    expect(await ended).toEqual({ type: 'settled' });
    expect(called).toEqual(['other', 'work']);
  });

  test('comes to rest if there is none, and keeps its place', async () => {
    const written: Checkpoint[] = [];
    const slots = slotsOf(0);
    const freed: string[] = [];
    const run = runOf({ ...SAGA, state: waiting }, limited, () => undefined, {
      ...portsTo(written),
      takeSlots: slots.takeSlots.bind(slots),
      freeSlots: async (_limit, _holder, steps) => freed.push(...steps) > 0,
    });
    expect(await run.advance()).toEqual({ type: 'released', dueAt: undefined });
    expect(written.at(-1)!.state.steps.get('work')).toMatchObject({ status: 'waiting', slot: { since: 0 } });
    expect(freed).toEqual([]);
  });

  test('asks for what another of its own items has freed', async () => {
    const called: unknown[] = [];
    const items = graphOf(
      stepOf('work', {
        forEach: () => ['a', 'b', 'c'],
        itemsAtOnce: 3,
        limit: { count: 1 },
      }),
    );
    const slots = slotsOf(1);
    const run = runOf(SAGA, items, (method) => void called.push(method), {
      ...portsTo([]),
      takeSlots: slots.takeSlots.bind(slots),
      freeSlots: slots.freeSlots,
    });
    expect(await run.advance()).toEqual({ type: 'settled' });
    expect(called).toEqual(['work', 'work', 'work']);
  });
});

test('a slot that could not be freed is freed by the run that goes on, again and again', async () => {
  const free = [false, false, true];
  const freed: string[][] = [];
  const time = { ms: 0 };
  const slots = new RunSlots(
    limited,
    SAGA,
    {
      takeSlots: async (_limit, _holder, steps) => steps,
      freeSlots: async (_limit, _holder, steps) => {
        freed.push([...steps]);
        return free[freed.length - 1]!;
      },
      now: () => 0,
      clock: { ...systemClock, monotonic: () => time.ms },
    },
    () => undefined as never,
  );
  await slots.take([{ kind: 'run', key: 'work', node: limited.steps.get('work')! }], INITIAL);
  const begun = evolve(limited, INITIAL, { type: 'step-started', step: 'work' });
  const ended = evolve(limited, begun, { type: 'step-completed', step: 'work' });
  expect(slots.untilAsked(ended)).toBeUndefined();
  for (const tries of [1, 2, 3, 3]) {
    await slots.freeEnded(ended);
    expect(freed).toEqual(Array.from({ length: tries }, () => ['work']));
    expect(slots.untilAsked(ended)).toBe(tries < 3 ? SLOT_KEPT_MS : undefined);
    time.ms += SLOT_KEPT_MS;
  }
});

describe('a run whose step waits for a slot', () => {
  function waitingAt(time: { ms: number }): RunSlots {
    const ports = {
      takeSlots: async () => [],
      freeSlots: async () => true,
      now: () => 0,
      clock: { ...systemClock, monotonic: () => time.ms },
    };
    return new RunSlots(limited, { ...SAGA, state: waiting }, ports, () => undefined as never);
  }
  const halted: SagaState = { ...waiting, status: 'stuck' };

  test('asks again after a while, though it was not called: hints may be lost', async () => {
    const time = { ms: 0.1 };
    const slots = waitingAt(time);
    expect([slots.mayAsk(waiting), slots.untilAsked(waiting)]).toEqual([true, 0]);
    await slots.askAgain(waiting);
    expect([slots.mayAsk(waiting), slots.untilAsked(waiting)]).toEqual([false, SLOT_KEPT_MS]);
    time.ms += SLOT_KEPT_MS + 1;
    expect([slots.mayAsk(waiting), slots.untilAsked(waiting)]).toEqual([true, 0]);
  });

  test('asks at once when it was called', async () => {
    const slots = waitingAt({ ms: 0.1 });
    await slots.askAgain(waiting);
    slots.forget();
    expect([slots.mayAsk(waiting), slots.untilAsked(waiting)]).toEqual([true, 0]);
  });

  test('asks at once when its saga goes forward again from a savepoint: its place may be gone', async () => {
    const slots = waitingAt({ ms: 0.1 });
    await slots.askAgain(waiting);
    await slots.freeEnded({ ...waiting, status: 'compensating' });
    expect([slots.mayAsk(waiting), slots.untilAsked(waiting)]).toEqual([true, 0]);
  });

  test('asks when it has waited for no time, however the times are rounded', async () => {
    for (let n = 1; n < 500; n += 1) {
      const time = { ms: n * 1_234.567_891 + n / 7 };
      const slots = waitingAt(time);
      await slots.askAgain(waiting);
      time.ms += slots.untilAsked(waiting)!;
      expect(slots.mayAsk(waiting)).toBe(slots.untilAsked(waiting) === 0);
    }
  });

  test('does not ask while its saga does not go forward', () => {
    const slots = waitingAt({ ms: 0 });
    expect([slots.mayAsk(halted), slots.untilAsked(halted)]).toEqual([false, undefined]);
  });
});
