import type pg from 'pg';
import { stepOfKey } from '../../../libs/saga/src/definition/graph/saga-graph.js';
import { isDropped } from '../../oracle/is-dropped.js';
import { Relations } from '../../oracle/model-state.js';
import type { LockstepSaga } from '../../graphs/lockstep-saga.js';
import type { RandomGraph } from '../../oracle/random-graph.js';
import { type SagaState, stepState } from '../../../libs/saga/src/machine/saga-state.js';

/** What is left of a saga in the participants' database, and in its own. */
interface Effect {
  readonly key: string;
  readonly round: number;
  readonly isUndoing: boolean;
  readonly seq: number;
}

/** An operator undid it; the participants did not see when. */
const BY_HAND = 0;

const KEY = /^(?<id>[^:]+):(?<key>\w+(?:\[\d+\])?)(?:~(?<round>\d+))?(?<undo>:compensate)?$/;

/**
 * All that the participants saw of a saga, held against what it says of itself: what does not fit, in words.
 */
export async function wrongWithEffects(
  participants: pg.Pool,
  { graph }: RandomGraph,
  { id, end, entries }: Pick<LockstepSaga, 'id' | 'end' | 'entries'>,
): Promise<string[]> {
  const { rows } = await participants.query<{ key: string; seq: string }>(
    'SELECT key, seq FROM effect WHERE saga_id = $1 ORDER BY seq',
    [id],
  );
  const wrong: string[] = [];
  const effects = rows.flatMap(({ key, seq }): Effect[] => {
    const { id: saga, key: name, round = '1', undo } = KEY.exec(key)?.groups ?? {};
    const step = graph.steps.get(stepOfKey(name ?? ''));
    const last = step && stepState(end, step.name).round;
    if (saga === id && last !== undefined && Number(round) <= last)
      return [{ key: name!, round: Number(round), isUndoing: undo !== undefined, seq: Number(seq) }];
    wrong.push(`the key ${key} is of no step and round of this saga`);
    return [];
  });
  for (const entry of entries) {
    if (entry.type === 'completed manually' && entry.undone)
      effects.push({ key: entry.key, round: entry.round, isUndoing: true, seq: BY_HAND });
  }
  return [
    ...wrong,
    ...wrongWithOrder(new Relations(graph), effects, end),
    ...wrongInTheEnd(graph, effects, end),
  ];
}

function undoOf(effects: readonly Effect[], { key, round }: Effect): Effect | undefined {
  return effects.find((one) => one.isUndoing && one.key === key && one.round === round);
}

/** What depends on a step is undone before it; nothing depends on what the saga went on without. */
function wrongWithOrder(relations: Relations, effects: readonly Effect[], end: SagaState): string[] {
  const isGone = (name: string) => isDropped(stepState(end, name));
  return effects
    .filter(({ isUndoing, seq }) => isUndoing && seq !== BY_HAND)
    .flatMap((undone) => {
      const step = stepOfKey(undone.key);
      const dependents = isGone(step) ? cutAfter(relations, step, isGone) : relations.descendants(step);
      return effects
        .filter(({ key, isUndoing, seq }) => !isUndoing && dependents.has(stepOfKey(key)) && seq < undone.seq)
        .filter(({ key }) => relations.node(key).compensate !== undefined)
        .filter((effect) => !((undoOf(effects, effect)?.seq ?? Infinity) < undone.seq))
        .map((effect) => `${undone.key}~${undone.round} is undone before ${effect.key}~${effect.round}`);
    });
}

function cutAfter(
  relations: Relations,
  from: string,
  isGone: (name: string) => boolean,
): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (name: string): void => {
    for (const next of relations.dependents(name).filter((one) => isGone(one) && !found.has(one))) {
      found.add(next);
      visit(next);
    }
  };
  visit(from);
  return found;
}

/** Each effect stands, because it is wanted, or is undone. */
function wrongInTheEnd(graph: RandomGraph['graph'], effects: readonly Effect[], end: SagaState): string[] {
  if (end.status !== 'completed' && end.status !== 'compensated') return [];
  return effects
    .filter(({ isUndoing }) => !isUndoing)
    .flatMap((effect) => {
      const { name, compensate } = graph.steps.get(stepOfKey(effect.key))!;
      const { pruned, round, status } = stepState(end, name);
      const isWanted =
        end.status === 'completed' && status === 'completed' && !pruned && round === effect.round;
      const isUndone = undoOf(effects, effect) !== undefined;
      if (isWanted ? !isUndone : isUndone || compensate === undefined) return [];
      const is = isUndone ? 'undone, and wanted' : 'left behind';
      return [`${effect.key}~${effect.round} of a saga that is ${end.status} is ${is}`];
    });
}

/** What transactional steps wrote, in one transaction with their checkpoints: nothing is there twice. */
export async function writtenTwice(sagas: pg.Pool): Promise<string[]> {
  const { rows } = await sagas.query<{ entry: string }>(
    'SELECT entry FROM ledger GROUP BY entry HAVING count(*) > 1',
  );
  return rows.map(({ entry }) => entry);
}
