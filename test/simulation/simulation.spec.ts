import { collectGarbage } from '../support/collect-garbage.js';
import { describeFailure, describeViolations } from './describe-failure.js';
import { PROMISES } from './promises.js';
import { FAMILIES } from './families.js';
import { RELAYS } from './message-plan.js';
import { HEARTBEATS, QUORUMS, REPLIES, SLOTS, WAITS } from './random-saga.js';
import { HASTY, LATER, MESSAGES, PIVOT_CALLS, scenarioOf } from './scenario.js';
import { leftOut } from './shrink.js';
import { simulate } from './simulate.js';

/** Others, and more of them: npm run simulate. */
const SCENARIOS = 40;
const AT_ONCE = 20;

/** Seeds that broke a promise once, with what they found; before there were waits and messages, */
const FOUND_BEFORE: readonly (readonly [seed: number, what: string])[] = [
  [2, 'a checkpoint that arrived after later ones put the saga back'],
  [6, 'a checkpoint of a sub-saga that arrived late left it behind for ever'],
  [102, 'a step began after an answer that had taken longer than the lease'],
  [386, 'a transactional step was committed after its saga had been given back'],
  [1058, 'a step began that a transaction, about to be committed, had cut'],
  [10271, 'a transaction that was tried again called its method after another had taken over'],
  [10803, 'at shutdown a result that was recorded was overwritten by a failure'],
  [12152, 'a step with a rate limit took workers down for ever'],
];
/** before the simulation cancelled sagas while a pivot was in progress, */
const FOUND: readonly (readonly [seed: number, what: string])[] = [
  [147, 'a wait expired whose signal had come, because its notification was lost'],
];

/** and since. */
const FOUND_IN_PIVOTS: readonly (readonly [seed: number, what: string])[] = [
  [
    3431,
    'a cancellation in a pivot that takes workers down was stored anew by each, and their losses forgotten',
  ],
];

/** With limits of steps over all sagas. */
const FOUND_WITH_SLOTS: readonly (readonly [seed: number, what: string])[] = [
  [18, 'a saga whose items waited for slots was stuck'],
  [484, 'a run that waited for a slot waited for no time, again and again'],
  [1988, 'a saga was called for a slot, and came to rest again without asking for it'],
];

/** With heartbeats, and reports of progress. */
const FOUND_WITH_HEARTBEATS: readonly (readonly [seed: number, what: string])[] = [
  [5, 'a failure was recorded while the details of its attempt were on their way'],
  [16, 'reports that were sent earlier and arrived later replaced newer ones'],
  [23, 'the details of a step were forgotten before its end was recorded'],
  [461, 'a run that waited for a slot waited for no time, again and again'],
  [27362588, 'a shutdown recorded an interrupted step as failed before its last heartbeat was stored'],
  [91_002_164, 'a saga waited for ever for a slot that a statement had taken too late'],
  [91_011_498, 'a step was recorded as begun at shutdown, and did not begin, then or ever'],
];

/** Before there were versions, schedules and keys of limits; seeds that had not been played before. */
const FOUND_FRESH: readonly (readonly [seed: number, what: string])[] = [
  [200000217, 'a saga waited for its lock behind one that was paused before it had the lock'],
  [200000463, 'a transactional step began that had been cut while its transaction was opened'],
];

/** With everything that a scenario has now. */
const FOUND_SINCE: readonly (readonly [seed: number, what: string])[] = [
  [
    2_811_331_380,
    'a clock that was set back was not noticed by the answer to a start that had been repeated',
  ],
  [1_911_281_203, 'an answer from before the clock was set back, which arrived late, was believed'],
  [2_811_280_884, 'a step that waited for a slot while its saga rolled back to a savepoint waited for ever'],
  [
    2_811_290_956,
    'a transactional step whose lease was not renewed before a shutdown was in progress for ever',
  ],
  [
    2_811_304_336,
    'messages waited for ever behind one that another relay had sent, which had lost their lane',
  ],
  [2_812_600_974, 'a saga that had lost too many workers kept its lease, since it was asked to pause'],
  [2_812_401_745, 'an answer was believed that was asked for later, and given before the clock was set back'],
  [2_812_403_014, 'an attempt of a lost worker was forgotten that was not due by a clock that was set back'],
  [2_812_405_418, 'a signal that came too late for one step was not given to the other that waited for it'],
  [
    2_812_411_255,
    'a wait was over before it was asked what had come while the saga rolled back to a savepoint',
  ],
  [2_812_629_533, 'a late answer set a clock that drifts back by as long as it had been on its way'],
  [2_812_449_788, 'a process that had to stop while it started ran sagas from then on, without renewals'],
  [2_811_292_079, 'a compensation sent its request twice whose transaction had committed without an answer'],
];

/** In which the checker saw a broken promise where none was broken. */
const MISREPORTED: readonly (readonly [seed: number, what: string])[] = [
  [391, 'a join any went on without a winner: a branch had lost, and the optional other one had failed'],
  [2031, 'the same, where the loser was still being undone'],
  [2_811_281_317, 'a lease that had ended, and was fenced, counted again after the clock was set back'],
  [2_811_298_305, 'a worker that had stopped in order counted as taken down by its saga'],
  [
    2_811_288_068,
    'a lock was free for as long as the clock was set back, since a saga that had just come takes it',
  ],
  [
    2_812_445_969,
    'a lease that a claim had fenced which took nothing counted again after the clock was set back',
  ],
  [2_812_638_025, 'a lock that was refused was judged when its saga was claimed, and the circle had gone'],
  [
    2_811_586_302,
    'a lease that ended at the very time of a claim counted for longer than it did for the database',
  ],
];

describe('whatever fails, every promise is kept', () => {
  const groups = Array.from({ length: SCENARIOS / AT_ONCE }, (_, n) => n * AT_ONCE + 1);

  test.each(groups)(`in ${AT_ONCE} scenarios from seed %i on`, async (from) => {
    let sagas = 0;
    for (let seed = from; seed < from + AT_ONCE; seed += 1) {
      const run = await simulate(scenarioOf(seed));
      expect({ seed, broken: describeViolations(run) }).toEqual({ seed, broken: [] });
      sagas += run.sagas;
    }
    expect(sagas).toBeGreaterThan(AT_ONCE);
  });

  test.each(FOUND)('in the scenario of seed %i, where once %s', async (seed) => {
    // As it was then.
    const without = new Set([PIVOT_CALLS, RELAYS, FAMILIES, REPLIES, QUORUMS, SLOTS, HEARTBEATS, ...LATER]);
    expect(describeViolations(await simulate(scenarioOf(seed, without)))).toEqual([]);
  });

  test.each(FOUND_IN_PIVOTS)('in the scenario of seed %i, where once %s', async (seed) => {
    const without = new Set([RELAYS, FAMILIES, REPLIES, QUORUMS, SLOTS, HEARTBEATS, ...LATER]);
    expect(describeViolations(await simulate(scenarioOf(seed, without)))).toEqual([]);
  });

  test.each(FOUND_WITH_SLOTS)('in the scenario of seed %i, where once %s', async (seed) => {
    const without = new Set([HEARTBEATS, ...LATER]);
    expect(describeViolations(await simulate(scenarioOf(seed, without)))).toEqual([]);
  });

  test.each(FOUND_WITH_HEARTBEATS)('in the scenario of seed %i, where once %s', async (seed) => {
    expect(describeViolations(await simulate(scenarioOf(seed, new Set(LATER))))).toEqual([]);
  });

  test.each(FOUND_FRESH)('in the scenario of seed %i, where once %s', async (seed) => {
    expect(describeViolations(await simulate(scenarioOf(seed, new Set(LATER))))).toEqual([]);
  });

  test.each(FOUND_SINCE)('in the scenario of seed %i, where once %s', async (seed) => {
    expect(describeViolations(await simulate(scenarioOf(seed)))).toEqual([]);
  });

  test.each(MISREPORTED)('in the scenario of seed %i, where %s', async (seed) => {
    const without = new Set([HEARTBEATS, ...LATER]);
    expect(describeViolations(await simulate(scenarioOf(seed, without)))).toEqual([]);
  });

  test.each(FOUND_BEFORE)('in the scenario of seed %i, where once %s', async (seed) => {
    // As it was then.
    const without = new Set([
      WAITS,
      REPLIES,
      QUORUMS,
      SLOTS,
      HEARTBEATS,
      ...LATER,
      MESSAGES,
      PIVOT_CALLS,
      RELAYS,
      FAMILIES,
      ...Array.from({ length: 9 }, (_, n) => `${HASTY} ${n}`),
    ]);
    expect(describeViolations(await simulate(scenarioOf(seed, without)))).toEqual([]);
  });
});

describe('a scenario', () => {
  test('plays the same again, event by event', async () => {
    const first = await simulate(scenarioOf(7), true);
    const second = await simulate(scenarioOf(7), true);
    expect(first.log.length).toBeGreaterThan(50);
    expect(second).toEqual(first);
  });

  test('is another one for each seed', async () => {
    const [a, b] = await Promise.all([7, 8].map((seed) => simulate(scenarioOf(seed), true)));
    expect(a!.log).not.toEqual(b!.log);
  });

  test('leaves nothing in memory once it is over, whichever processes were killed in it', async () => {
    const play = async (seed: number) => {
      const scenario = scenarioOf(seed);
      await simulate(scenario);
      return new WeakRef(scenario);
    };
    const played = [await play(7), await play(8), await play(9)];
    // A killed process may wait for its turn to work on large payloads, which takes up to four turns of the event loop.
    for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(played.filter((scenario) => scenario.deref() !== undefined)).toEqual([]);
  });

  test('goes on without a part that is left out, and all else in it stays as it was', () => {
    const whole = scenarioOf(7);
    const left = scenarioOf(7, new Set([whole.starts[0]!.name]));
    expect(left.starts).toEqual(whole.starts.slice(1));
    expect(left.faults).toEqual(whole.faults);
    expect(left.weather).toEqual(whole.weather);
  });

  test('is reported with all its events, and with the command to repeat it', async () => {
    const text = await describeFailure(7, ['fault 0']);
    expect(text).toContain(`--seed=7 --without='fault 0'`);
    expect(text).toMatch(/worker-\d\.1 calls run s0/);
  });
});

describe('a failing scenario is made small', () => {
  test('down to what it does not fail without', async () => {
    const parts = Array.from({ length: 37 }, (_, n) => `part ${n}`);
    const needed = ['part 3', 'part 20', 'part 21'];
    let tries = 0;
    const without = await leftOut(parts, async (given) => {
      tries += 1;
      return needed.every((part) => !given.includes(part));
    });
    expect(parts.filter((part) => !without.includes(part))).toEqual(needed);
    expect(tries).toBeLessThan(80);
  });

  test('to nothing, where it fails anyway', async () => {
    expect(await leftOut(['a', 'b', 'c'], async () => true)).toEqual(['a', 'b', 'c']);
  });
});

test('every promise has its number and its words', () => {
  expect(Object.keys(PROMISES)).toEqual(Object.keys(PROMISES).map((_, n) => `I${n + 1}`));
});
