import { Rng, type Dice } from './rng.js';
import { FAMILIES, type FamilyMember, familyPlanOf } from './families.js';
import { type MessagePlan, messagePlanOf, RELAYS } from './message-plan.js';
import { HEARTBEATS, LIMIT_KEYS, randomSagas, SCHEDULES, type SimulatedSaga, WAITS } from './random-saga.js';
import { CODEC } from './coded-database.js';
import { CLOCK_STEPS, type ClockStep, clockSteps } from './clock-steps.js';
import { EPOCH } from './simulated-clock.js';
import { TENANTS } from './tenants.js';
import { VERSIONS } from './versions.js';

/** A saga that a client starts. */
export interface Start {
  readonly name: string;
  readonly n: number;
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Which class. */
  readonly saga: number;
  readonly correlationId: string;
  /** The process that starts it; beyond the workers: one that runs none. */
  readonly by: number;
  readonly priority: number;
  readonly delay?: number;
  /** The same correlation id with another input. */
  readonly isConflict: boolean;
  /** Each call of its steps takes its worker down. */
  readonly isFatal: boolean;
  /** The process that started it waits for it. */
  readonly isAwaited: boolean;
  /** The members, for the first saga of a family. */
  readonly family?: FamilyMember;
  /** The second version, if the process that starts it has one. */
  readonly isSecond: boolean;
}

export const FAULTS = {
  /** The process is gone, at this moment. */
  crash: 3,
  /** The process is gone in place of one of its next calls. */
  'crash in a call': 5,
  /** SIGSTOP, or a blocked event loop. */
  pause: 3,
  /** SIGTERM: it shuts down in good order, and is started again. */
  stop: 2,
  /** Its connections break, and new ones are refused. */
  cut: 2,
  /** Its connections hang: its requests are lost, and it receives nothing. */
  'half-open': 2,
  /** What it sends arrives, and the answers do not. */
  deaf: 2,
  /** Nothing that is announced reaches it; it does not know. */
  'no notifications': 1,
  /** The database restarts: all connections break. */
  'database down': 2,
} as const;

export interface Fault {
  readonly name: string;
  readonly kind: keyof typeof FAULTS;
  readonly at: number;
  readonly duration: number;
  /** Which worker, where it is one. */
  readonly worker: number;
  /** For a crash in a call: in which of the next. */
  readonly call: number;
}

export const CALLS = {
  cancel: 4,
  retry: 4,
  'retry one': 2,
  resolve: 2,
  abort: 1,
  undo: 1,
  pause: 2,
} as const;

/** What an operator does. */
export interface OperatorCall {
  readonly name: string;
  readonly kind: keyof typeof CALLS;
  readonly at: number;
  /** The n-th start's saga, or with `child` a saga that it started. */
  readonly saga: number;
  readonly ofChild: boolean;
  readonly pick: number;
}

/** A client sends a signal, or decides. */
export interface Sending {
  /** The message's id, too. */
  readonly name: string;
  readonly at: number;
  /** As in an operator's call. */
  readonly saga: number;
  readonly ofChild: boolean;
  /** Chooses what to. */
  readonly pick: number;
  /** The process from which it is sent. */
  readonly by: number;
  /** So many times more, under the same message id. */
  readonly again: number;
  readonly isRefusal: boolean;
}

export interface Weather {
  /** Milliseconds, one way: mostly near the first. */
  readonly delay: readonly [number, number];
  /**
   * Parts of requests: not sent; executed, and the answer lost; the connection broken, and executed later all
   * the same.
   */
  readonly lost: number;
  readonly unanswered: number;
  readonly late: number;
  /** The fraction of hints that are lost. */
  readonly hintsLost: number;
  /** The fraction of calls of participants that fail. */
  readonly failing: number;
}

export interface Scenario {
  readonly seed: number;
  readonly chance: Rng;
  readonly sagas: readonly SimulatedSaga[];
  /** How many of them, the last ones, are classes of families. */
  readonly familySagas: number;
  readonly workers: number;
  /** Sagas that a worker advances at once. */
  readonly concurrency: number;
  /** Sagas that may wait in a worker for it to advance them. */
  readonly ahead: number;
  /** Milliseconds. */
  readonly lease: number;
  readonly starts: readonly Start[];
  readonly faults: readonly Fault[];
  readonly calls: readonly OperatorCall[];
  readonly sendings: readonly Sending[];
  /** What is published, relayed and handled beside; undefined: nothing. */
  readonly messages: MessagePlan | undefined;
  /** Methods publish messages. */
  readonly publishes: boolean;
  readonly weather: Weather;
  readonly clockSteps: readonly ClockStep[];
  /** From then on (ms) nothing goes wrong any more. */
  readonly calm: number;
  /** The last tick of a schedule, in milliseconds since the epoch. */
  readonly scheduledUntil: number;
  readonly isLeftOut: (name: string) => boolean;
}

const CLIENTS = 2;
/** Schedules go on for so long (ms) when nothing goes wrong any more. */
const SCHEDULED_FOR = 100_000;
/** What those calls of operators are called that come while a saga has hardly begun. */
export const HASTY = 'hasty call';
/** The part to leave out for scenarios without cancellations while a pivot is in progress. */
export const PIVOT_CALLS = 'calls in pivots';
/** What is left out of scenarios that publish nothing. */
export const MESSAGES = 'messages';
/** What the latest scenarios have, to be left out of those that are older. */
export const LATER: readonly string[] = [VERSIONS, LIMIT_KEYS, SCHEDULES, CLOCK_STEPS, TENANTS, CODEC];
/** What those calls of operators are called that concern families. */
const FAMILY_CALL = 'family call';
/** Takeovers without progress after which a saga is stuck. */
export const MAX_TAKEOVERS = 5;

/**
 * All that happens, from a seed.
 * @param without names of what is left out
 */
export function scenarioOf(seed: number, without: ReadonlySet<string> = new Set()): Scenario {
  const chance = new Rng(seed);
  const dice = chance.for('scenario');
  const isLeftOut = (name: string) => without.has(name);
  const workers = dice.int(1, 4);
  const calm = dice.int(5_000, 60_000);
  const scheduledUntil = EPOCH + calm + SCHEDULED_FOR;
  const sagas = randomSagas(chance, { count: dice.int(1, 5), scheduledUntil }, isLeftOut);
  const count = dice.int(5, 60);
  const size = { concurrency: dice.among([1, 2, 5, 20, 100]), lease: dice.among([1_000, 5_000, 30_000]) };
  const ahead = chance.for('ahead').among([0, 1, 10, 100]);
  const starts = series(count, isLeftOut, 'start', (n) =>
    randomStart(chance, n, { count, workers, calm, sagas }),
  );
  const faults = series(dice.int(0, 12), isLeftOut, 'fault', (_, name) => {
    const of = chance.for(name);
    const [kind, at, worker] = [of.weighed(FAULTS), of.int(0, calm), of.int(0, workers - 1)];
    const duration = Math.min(Math.floor(of.long(50, size.lease * 3)), calm - at);
    return { name, kind, at, worker, duration, call: of.int(1, 60) };
  });
  const calls = series(dice.int(0, 15), isLeftOut, 'call', (_, name) => {
    const of = chance.for(name);
    const when = { at: of.int(0, calm * 2), saga: of.int(0, count - 1) };
    return { name, kind: of.weighed(CALLS), ...when, ofChild: of.happens(0.15), pick: of.int(0, 99) };
  });
  const hasty = series(chance.for('hasty').int(0, 8), isLeftOut, HASTY, (_, name) =>
    hastyCall(chance.for(name), name, starts),
  );
  const toSend = isLeftOut(WAITS) ? 0 : chance.for('sendings').int(0, count * 2);
  const sendings = series(toSend, isLeftOut, 'sending', (_, name) =>
    randomSending(chance.for(name), name, { starts, calm, workers }),
  );
  const weather = randomWeather(chance, isLeftOut);
  const family = familyPlanOf(chance, sagas.length, { calm, processes: processesOf({ workers }) }, isLeftOut);
  const families = (family?.starts ?? []).map(({ name, at, by, member, saga }, n): Start => ({
    ...{ name, n: count + n, at, saga: sagas.length + saga, correlationId: name, by, family: member },
    ...{ priority: 0, isConflict: false, isFatal: false, isAwaited: n % 2 === 0, isSecond: false },
  }));
  const familyCalls = series(
    family ? chance.for(FAMILY_CALL).int(0, 6) : 0,
    isLeftOut,
    FAMILY_CALL,
    (_, name) => familyCall(chance.for(name), name, families),
  );
  return {
    seed,
    chance,
    sagas: [...sagas, ...(family?.sagas ?? [])],
    familySagas: family?.sagas.length ?? 0,
    workers,
    ...size,
    ahead,
    starts: [...starts, ...families],
    faults,
    calls: [...calls, ...hasty, ...familyCalls],
    sendings,
    messages: messagePlanOf(chance, { calm, processes: processesOf({ workers }) }, isLeftOut),
    publishes: !isLeftOut(MESSAGES) && chance.for(MESSAGES).happens(0.5),
    weather,
    clockSteps: clockSteps(chance, calm, isLeftOut),
    ...{ calm, scheduledUntil },
    isLeftOut,
  };
}

/** Most come while the saga may wait for them, some before it has begun, and some after all. */
function randomSending(
  dice: Dice,
  name: string,
  { starts, calm, workers }: { starts: readonly Start[]; calm: number; workers: number },
): Sending {
  const start = starts.length > 0 ? dice.among(starts) : undefined;
  const at = (start?.at ?? 0) + (start?.delay ?? 0) + dice.long(0, calm);
  return {
    ...{ name, at, saga: start?.n ?? 0, ofChild: dice.happens(0.15), pick: dice.int(0, 99) },
    by: dice.int(0, processesOf({ workers }) - 1),
    again: dice.happens(0.2) ? dice.int(1, 2) : 0,
    isRefusal: dice.happens(0.2),
  };
}

/** What an operator does while the saga has hardly begun. */
function hastyCall(dice: Dice, name: string, starts: readonly Start[]): OperatorCall {
  const start = starts.length > 0 ? dice.among(starts) : undefined;
  const at = (start?.at ?? 0) + (start?.delay ?? 0) + dice.long(0, 3_000);
  const kind = dice.weighed({ ...CALLS, cancel: 12 });
  return { name, kind, at, saga: start?.n ?? 0, ofChild: dice.happens(0.15), pick: dice.int(0, 99) };
}

/** What an operator does with a saga of a family, soon or once it has ended. */
function familyCall(dice: Dice, name: string, starts: readonly Start[]): OperatorCall {
  const start = starts.length > 0 ? dice.among(starts) : undefined;
  const at = (start?.at ?? 0) + dice.long(0, 30_000);
  const kind = dice.weighed({ ...CALLS, undo: 8 });
  return { name, kind, at, saga: start?.n ?? 0, ofChild: dice.happens(0.3), pick: dice.int(0, 99) };
}

/** The names of all that can be left out of it. */
export function partsOf(scenario: Scenario): string[] {
  const { starts, faults, calls, sendings, clockSteps: steppings, sagas, messages } = scenario;
  const steps = sagas.flatMap(({ graph }, n) => [...graph.steps.keys()].map((step) => `step ${n}.${step}`));
  const options = sagas.flatMap((_, n) => [`timeout ${n}`, `lock ${n}`, `limit ${n}`]);
  const weather = ['lost', 'unanswered', 'late', 'hints', 'failing', 'slow participants'].map(
    (what) => `weather ${what}`,
  );
  const waits = sagas.flatMap(({ graph }, n) =>
    [...graph.steps.values()].filter(({ wait }) => wait).map(({ name }) => `wait ${n}.${name}`),
  );
  const beats = sagas.flatMap(({ graph }, n) =>
    [...graph.steps.values()].filter((node) => node.heartbeat).map(({ name }) => `heartbeat ${n}.${name}`),
  );
  const events = [...starts, ...faults, ...calls, ...sendings, ...steppings].map(({ name }) => name);
  const relayed = [...(messages?.publications ?? []), ...(messages?.crashes ?? [])].map(({ name }) => name);
  return [
    ...events,
    ...relayed,
    FAMILIES,
    RELAYS,
    MESSAGES,
    HEARTBEATS,
    ...LATER,
    ...weather,
    ...waits,
    ...beats,
    ...steps,
    ...options,
  ];
}

export const processesOf = ({ workers }: Pick<Scenario, 'workers'>): number => workers + CLIENTS;

function series<T>(
  count: number,
  isLeftOut: (name: string) => boolean,
  what: string,
  make: (n: number, name: string) => T,
): T[] {
  const numbers = Array.from({ length: count }, (_, n) => n).filter((n) => !isLeftOut(`${what} ${n}`));
  return numbers.map((n) => make(n, `${what} ${n}`));
}

function randomStart(
  chance: Rng,
  n: number,
  {
    count,
    workers,
    calm,
    sagas,
  }: { count: number; workers: number; calm: number; sagas: readonly SimulatedSaga[] },
): Start {
  const name = `start ${n}`;
  const dice = chance.for(name);
  // Now and then the same again, from another process or at another time.
  const isAgain = n > 0 && dice.happens(0.15);
  const same = isAgain ? dice.int(Math.max(0, n - 5), n - 1) : n;
  const first = chance.for('subject', same);
  return {
    name,
    n,
    at: dice.int(0, dice.happens(0.5) ? 500 : calm),
    saga: first.int(0, sagas.length - 1),
    correlationId: `order ${same}`,
    by: dice.int(0, processesOf({ workers }) - 1),
    priority: first.happens(0.2) ? first.int(1, 100) : 0,
    delay: first.happens(0.1) ? first.int(1, 10_000) : undefined,
    isConflict: isAgain && dice.happens(0.2),
    isFatal: first.happens(0.3 / count),
    isAwaited: dice.happens(0.5),
    isSecond: chance.for(VERSIONS, name).happens(0.5),
  };
}

function randomWeather(chance: Rng, isLeftOut: (name: string) => boolean): Weather {
  const dice = chance.for('weather');
  const isBad = dice.happens(0.6);
  const rate = (what: string, most: number) => {
    const is = dice.happens(0.5) ? dice.long(0, most) : 0;
    return isBad && !isLeftOut(`weather ${what}`) ? is : 0;
  };
  return {
    delay: [0.2, dice.among([2, 20, 300])],
    lost: rate('lost', 0.1),
    unanswered: rate('unanswered', 0.1),
    late: rate('late', 0.1),
    hintsLost: rate('hints', 1),
    failing: isLeftOut('weather failing') ? 0 : dice.among([0, 0.05, 0.2, 0.5]),
  };
}
