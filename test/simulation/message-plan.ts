import type { ResolvedRetryPolicy } from '../../libs/saga/src/definition/options/retry-policy.js';
import type { Rng, Dice } from './rng.js';

/** Transactions that publish, one strictly after the other, from one process. */
export interface Publication {
  readonly name: string;
  readonly at: number;
  readonly by: number;
  readonly key: string;
  readonly transactions: readonly PlannedTransaction[];
}

export interface PlannedTransaction {
  /** Messages of each statement. */
  readonly statements: readonly number[];
  /** Milliseconds between two statements. */
  readonly hold: number;
  /** Within a savepoint that is rolled back: so many messages. */
  readonly undone: number;
  /** The error of a statement is caught, and the transaction goes on. */
  readonly swallows: boolean;
  /** Starts a saga. */
  readonly starts: boolean;
  readonly end: 'commit' | 'rollback';
}

/** A process dies in place of one of the next calls of its relay or its handlers. */
export interface RelayCrash {
  readonly name: string;
  readonly at: number;
  readonly worker: number;
  readonly call: number;
}

/** What is published, relayed and handled beside sagas. */
export interface MessagePlan {
  readonly publications: readonly Publication[];
  readonly crashes: readonly RelayCrash[];
  readonly lanes: number;
  /** Processes up to this number have relays. */
  readonly relays: number;
  readonly batch: number;
  readonly batchesAtOnce: number;
  readonly lease: number;
  readonly sendTimeout: number;
  readonly retry: ResolvedRetryPolicy;
  readonly broker: {
    /** Parts of the messages: refused until an operator sends them again; and for a while. */
    readonly poisonous: number;
    readonly refused: number;
    /** Fractions of sends: rejected; accepted without confirmation; unanswered, and arriving much later. */
    readonly lost: number;
    readonly unconfirmed: number;
    readonly hanging: number;
    /** Parts of deliveries: delivered twice. */
    readonly twice: number;
    /** It takes nothing from, to (ms). */
    readonly outages: readonly (readonly [from: number, to: number])[];
  };
}

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
/** What is left out of scenarios without transactions of applications. */
export const RELAYS = 'relays';
const PART_OF_SCENARIOS = 0.4;

export function messagePlanOf(
  chance: Rng,
  { calm, processes }: { calm: number; processes: number },
  isLeftOut: (name: string) => boolean,
): MessagePlan | undefined {
  const dice = chance.for(RELAYS);
  if (isLeftOut(RELAYS) || !dice.happens(PART_OF_SCENARIOS)) return undefined;
  const isBad = dice.happens(0.7);
  const rate = (most: number) => (isBad && dice.happens(0.5) ? dice.long(0, most) : 0);
  const numbered = <T>(count: number, what: string, make: (name: string, of: Dice) => T): T[] =>
    Array.from({ length: count }, (_, n) => `${what} ${n}`)
      .filter((name) => !isLeftOut(name))
      .map((name) => make(name, chance.for(name)));
  const burst = dice.happens(0.7) ? dice.int(50, 2_000) : calm;
  return {
    publications: numbered(dice.int(3, 30), 'publication', (name, of) => ({
      name,
      at: of.int(0, of.happens(0.8) ? burst : calm),
      by: of.int(0, processes - 1),
      key: of.among(KEYS),
      transactions: Array.from({ length: of.int(1, 5) }, () => plannedTransaction(of)),
    })),
    crashes: numbered(isBad ? dice.int(0, 4) : 0, 'relay crash', (name, of) => ({
      ...{ name, at: of.int(0, calm), worker: of.int(0, processes - 1), call: of.int(1, 40) },
    })),
    lanes: dice.among([1, 2, 4]),
    relays: dice.int(1, processes),
    batch: dice.among([1, 2, 4, 10, 100]),
    batchesAtOnce: dice.int(1, 3),
    lease: dice.among([1_000, 5_000, 30_000]),
    sendTimeout: dice.among([500, 3_000]),
    retry: { attempts: dice.int(1, 4), delay: 200, factor: 2, maxDelay: 5_000, jitter: 0.2 },
    broker: {
      poisonous: rate(0.2),
      refused: rate(0.3),
      lost: rate(0.2),
      unconfirmed: rate(0.2),
      hanging: rate(0.1),
      twice: rate(0.5),
      outages: isBad && dice.happens(0.4) ? [outage(dice, calm), outage(dice, calm)] : [],
    },
  };
}

function plannedTransaction(of: Dice): PlannedTransaction {
  return {
    statements: Array.from({ length: of.int(0, 3) }, () => of.int(1, 3)),
    hold: of.happens(0.4) ? of.long(10, 8_000) : 0,
    undone: of.happens(0.15) ? of.int(1, 2) : 0,
    swallows: of.happens(0.08),
    starts: of.happens(0.1),
    end: of.happens(0.1) ? 'rollback' : 'commit',
  };
}

function outage(dice: Dice, calm: number): readonly [number, number] {
  const from = dice.int(0, calm);
  return [from, Math.min(calm, from + dice.int(100, 15_000))];
}
