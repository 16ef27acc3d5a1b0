import type { Type } from '@nestjs/common';
import type { UnlinkedStep } from '../../libs/saga/src/definition/graph/link-steps.js';
import type { SagaGraph } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { graphOf, stepOf } from '../fixtures/graph-of.js';
import { mended } from '../graphs/definable-graph.js';
import type { Rng, Dice } from './rng.js';
import { randomOptions, randomStep, type SimulatedSaga } from './random-saga.js';

/** What is left out of scenarios in which no sub-saga has a semantic lock of its family. */
export const FAMILIES = 'families';
const PART_OF_SCENARIOS = 0.5;

/** What a saga of a family has in its input. */
export interface FamilyMember {
  /** Its sub-sagas have one less; one with 0 starts none. */
  readonly depth: number;
  /** 0 to below `keys`. */
  readonly key: number;
  readonly keys: number;
}

/** A family that is started. */
export interface FamilyStart {
  readonly name: string;
  /** Milliseconds from the beginning. */
  readonly at: number;
  /** Which of the families' classes. */
  readonly saga: number;
  readonly by: number;
  readonly member: FamilyMember;
}

export interface FamilyPlan {
  readonly sagas: readonly SimulatedSaga[];
  readonly starts: readonly FamilyStart[];
}

/** Steps that start sub-sagas are called so: with the key of the saga itself, or with the next one. */
const SUB_SAGAS = ['same', 'next'] as const;

/**
 * Sagas that start each other, and themselves, with the same lock key or with another one: what one of them waits for may
 * wait for it.
 * @param first the number of the first class
 */
export function familyPlanOf(
  chance: Rng,
  first: number,
  { calm, processes }: { calm: number; processes: number },
  isLeftOut: (name: string) => boolean,
): FamilyPlan | undefined {
  const dice = chance.for(FAMILIES);
  if (isLeftOut(FAMILIES) || !dice.happens(PART_OF_SCENARIOS)) return undefined;
  const sagas = familySagas(chance, first, dice.int(1, 3), isLeftOut);
  const keys = dice.int(1, 3);
  const burst = dice.happens(0.7) ? dice.int(50, 2_000) : calm;
  const names = Array.from({ length: dice.int(2, 8) }, (_, n) => `family ${n}`);
  const starts = names
    .filter((name) => !isLeftOut(name))
    .map((name): FamilyStart => {
      const of = chance.for(name);
      const [at, saga, by] = [of.int(0, burst), of.int(0, sagas.length - 1), of.int(0, processes - 1)];
      return { name, at, saga, by, member: { depth: of.int(1, 3), key: of.int(0, keys - 1), keys } };
    });
  return { sagas, starts };
}

/** The input that a sub-saga's step gives its saga. */
export function inputOfChild(step: string, input: unknown): unknown {
  const { family } = input as { family?: FamilyMember };
  if (!family) return input;
  const { depth, key, keys } = family;
  const isNext = step.startsWith('next');
  return {
    ...(input as object),
    family: { keys, depth: depth - 1, key: isNext ? (key + 1) % keys : key },
  };
}

function familySagas(
  chance: Rng,
  first: number,
  count: number,
  isLeftOut: (name: string) => boolean,
): SimulatedSaga[] {
  const types = Array.from(
    { length: count },
    (_, n) => ({ [`Family${n}`]: class {} })[`Family${n}`]! as Type,
  );
  return types.map((type, index) => {
    const n = first + index;
    const dice = chance.for('family saga', index);
    const names = Array.from({ length: dice.int(2, 5) }, (_, k) => nameOf(dice, k));
    const kept = names.filter((name) => !isLeftOut(`step ${n}.${name}`));
    const steps = kept.map((name) => {
      const of = chance.for('family step', index, name);
      const step = randomStep(of, name, kept, []);
      return SUB_SAGAS.some((kind) => name.startsWith(kind)) ? toSubSaga(of, step, types) : step;
    });
    const options: Partial<SagaGraph> = {
      ...randomOptions(dice, isLeftOut, n),
      lockKey: dice.happens(0.8) && !isLeftOut(`lock ${n}`) ? lockKey : undefined,
    };
    return {
      type,
      graph: { ...mended({ ...graphOf(...steps), ...options }), ...options, name: `family-${index}` },
    };
  });
}

function nameOf(dice: Dice, k: number): string {
  return `${dice.happens(0.45) ? dice.among(SUB_SAGAS) : 's'}${k}`;
}

function lockKey({ input }: { input: unknown }): string {
  return `key ${(input as { family: FamilyMember }).family.key}`;
}

function isOuter({ input }: { input: unknown }): boolean {
  return (input as { family: FamilyMember }).family.depth > 0;
}

function toSubSaga(dice: Dice, { name, after, join }: UnlinkedStep, types: readonly Type[]): UnlinkedStep {
  const type = dice.among(types);
  const compensate = dice.happens(0.2) ? `undo ${name}` : undefined;
  return stepOf(name, { kind: 'sub-saga', after, join, compensate, when: isOuter, child: () => type });
}
