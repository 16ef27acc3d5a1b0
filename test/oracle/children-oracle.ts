import type { StepNode } from '../../libs/saga/src/definition/graph/saga-graph.js';
import { isDropped } from './is-dropped.js';
import type { Relations } from './model-state.js';
import type { ChildEntry, ChildSaga } from './model-children.js';
import type { Entry } from './model-entries.js';
import { type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';

/** Rules for the sagas that steps start, checked against their recorded effects. */
export const FAMILIAL = [
  'is never idle while a saga that one of its steps started is running',
  'has one saga of a step at a time, and none beside one that stands',
  'cancels the saga of a step only when nothing needs the step any more, and undoes it only when it completed',
  'gives a step the outcome of its own saga, and of no other',
  'begins nothing that depends on a step before its saga has completed',
  'calls the compensation of a step only when nothing of its saga is left',
] as const;

type Wrong = [string, string] | undefined;

/** Knows the sagas that the steps of one saga started as they really are. */
export class ChildOracle {
  private readonly sagas = new Map<string, ChildSaga>();
  /** Sagas whose step an operator marked as compensated, whatever was requested before. */
  private readonly completedManually = new Set<string>();

  constructor(private readonly relations: Relations) {}

  /** Whether a saga of this step is unfinished, in any round. */
  isGoingOn(step: string): boolean {
    return this.of(step).some((child) => this.isLeft(child));
  }

  read(entry: Entry): Wrong {
    if (entry.type === 'child') return this.changed(entry);
    if (entry.type === 'completed manually' && entry.undone)
      for (const { id } of this.of(entry.key)) this.completedManually.add(id);
    if (entry.type === 'started') return this.started(entry);
    if (entry.type !== 'event' || entry.before === entry.after) return undefined;
    const { event, before, after } = entry;
    if (event.type === 'child-ended') return this.outcome(event, before, after);
    if (event.type === 'settled') return this.whenIdle(event.status, () => true);
    const { rollbackTo } = before;
    return event.type === 'resumed'
      ? this.whenIdle('resumed', (step) => this.relations.descendants(rollbackTo!).has(step))
      : undefined;
  }

  private isLeft(child: ChildSaga): boolean {
    return isGoingOn(child) && !this.completedManually.has(child.id);
  }

  private of(step: string): ChildSaga[] {
    return [...this.sagas.values()].filter((child) => child.step === step);
  }

  private whenIdle(how: string, isConcerned: (step: string) => boolean): Wrong {
    const left = [...this.sagas.values()].find((child) => this.isLeft(child) && isConcerned(child.step));
    return left && [FAMILIAL[0], `${how}, and ${textOf(left)}`];
  }

  private changed({ what, child, state }: ChildEntry): Wrong {
    const before = this.sagas.get(child.id);
    this.sagas.set(child.id, child);
    const { id, step, round } = child;
    if (what === 'began') {
      const other = this.of(step).find((one) => one.id !== id && (isGoingOn(one) || this.stands(one)));
      if (other) return [FAMILIAL[1], `${textOf(child)} begins, and ${textOf(other)}`];
      return stepState(state, step).round === round
        ? undefined
        : [FAMILIAL[1], `${textOf(child)} in ${round}`];
    }
    // If the step is a pivot, its saga decides whether this saga rolls back.
    const decides = state.pendingRollback !== undefined && this.relations.node(step).pivot;
    if (what === 'was cancelled' && !decides && !isUnwanted(this.relations, state, step))
      return [FAMILIAL[2], `${textOf(child)}, and the saga is ${state.status}`];
    if (what === 'was to be undone') {
      const isAborted = before?.status === 'aborted' && before.result !== undefined;
      if (before?.status !== 'completed' && !isAborted)
        return [FAMILIAL[2], `undoes ${id}: ${before?.status}`];
      if (!isUnwanted(this.relations, state, step)) return [FAMILIAL[2], `undoes ${id}: ${state.status}`];
    }
    return undefined;
  }

  private outcome(
    { step, child: id }: { readonly step: string; readonly child: string },
    before: SagaState,
    after: SagaState,
  ): Wrong {
    const child = this.sagas.get(id);
    const { status, result } = stepState(after, step);
    const text = `${step} is ${status} with ${result} by ${child ? textOf(child) : id}`;
    if (stepState(before, step).child?.id !== id || child?.step !== step) return [FAMILIAL[3], text];
    const isUndoing = stepState(before, step).status === 'compensating';
    const fits: Record<string, readonly string[]> = isUndoing
      ? { compensated: ['compensating', 'compensated'], aborted: ['compensation_failed'] }
      : { completed: ['completed'], compensated: ['failed'], aborted: ['failed'] };
    if (!fits[child.status]?.includes(status)) return [FAMILIAL[3], text];
    return status === 'completed' && result !== child.result ? [FAMILIAL[3], text] : undefined;
  }

  private started({ attempt, before }: Extract<Entry, { type: 'started' }>): Wrong {
    const { kind, node, key } = attempt;
    if (kind === 'compensate') {
      const left = this.of(key).find((child) => isGoingOn(child) || this.stands(child));
      return left && [FAMILIAL[5], textOf(left)];
    }
    if (kind !== 'run') return undefined;
    const waits = node.after.map((name) => this.relations.node(name));
    const missing = waits.filter((dep) => !this.isDone(dep, before));
    const isMissed = node.join === 'all' ? missing.length > 0 : missing.length === waits.length;
    return isMissed && waits.length > 0 ? [FAMILIAL[4], `${key}, without ${missing[0]!.name}`] : undefined;
  }

  /** Whether a step is done: by its saga, manually, skipped, or dropped as optional. For other steps the saga's state decides. */
  private isDone({ name, kind }: StepNode, state: SagaState): boolean {
    const { status, round, child, result, continued } = stepState(state, name);
    if (status === 'skipped' || continued) return true;
    if (kind !== 'sub-saga' || result === '"manual"' || result === '1') return status === 'completed';
    const saga = child && this.sagas.get(child.id);
    return saga !== undefined && saga.status === 'completed' && saga.round === round && saga.step === name;
  }

  private stands({ id, status }: ChildSaga): boolean {
    return status === 'completed' && !this.completedManually.has(id);
  }
}

/** The step is being compensated, or the saga goes forward without it. */
function isUnwanted(relations: Relations, state: SagaState, step: string): boolean {
  const { rollbackTo, status } = state;
  if (isDropped(stepState(state, step))) return true;
  return (
    status === 'compensating' && (rollbackTo === undefined || relations.descendants(rollbackTo).has(step))
  );
}

function isGoingOn({ status }: ChildSaga): boolean {
  return status === 'running' || status === 'cancelling' || status === 'undoing';
}

function textOf({ id, status }: ChildSaga): string {
  return `${id} is ${status}`;
}
