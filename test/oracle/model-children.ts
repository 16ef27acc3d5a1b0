import { awaitsChild, type SagaState, stepState } from '../../libs/saga/src/machine/saga-state.js';
import type { EventOf } from '../../libs/saga/src/machine/saga-event.js';

/** A saga that a step of the played one started, as it really is. */
export interface ChildSaga {
  readonly id: string;
  readonly step: string;
  readonly round: number;
  readonly status: 'running' | 'cancelling' | 'completed' | 'undoing' | 'compensated' | 'aborted';
  readonly result?: string;
  /** It has passed its point of no return: it refuses to be undone. */
  readonly isFinal: boolean;
}

/** What an observer of these sagas sees. */
export interface ChildEntry {
  readonly type: 'child';
  readonly what: 'began' | 'was cancelled' | 'was to be undone' | 'ended';
  /** As it is afterwards. */
  readonly child: ChildSaga;
  /** The step and round of the saga that waits for it. */
  readonly state: SagaState;
}

type End = 'completed' | 'compensated' | 'aborted';
export type ChildEnded = EventOf<'child-ended'>;

/**
 * The sagas that the steps of one saga started. What they do, and what they are asked, is there at once: they
 * are others'.
 */
export class PlayedChildren {
  private readonly sagas = new Map<string, ChildSaga>();
  /** The answers to requests, once they are carried out. */
  private readonly answers = new WeakMap<object, boolean>();
  private made = 0;

  constructor(
    from: SagaState,
    private readonly note: (entry: ChildEntry) => void,
  ) {
    for (const step of from.steps.keys()) this.adopt(from, step);
  }

  /** Those that have not ended; the ones that were asked to first. */
  get goingOn(): ChildSaga[] {
    const goingOn = [...this.sagas.values()].filter(({ status }) => isGoingOn(status));
    return goingOn.sort((a, b) => Number(a.status === 'running') - Number(b.status === 'running'));
  }

  /** The id of one that is new; it is there once a state that knows of it is stored. */
  make(step: string): string {
    do this.made += 1;
    while (this.sagas.has(`${step}-${this.made}`));
    return `${step}-${this.made}`;
  }

  /** The state is stored, and with it the sagas that are new in it. */
  store(state: SagaState): void {
    for (const [step, { child, round }] of state.steps) {
      if (child === undefined || this.sagas.has(child.id)) continue;
      const started = { id: child.id, step, round, status: 'running', isFinal: false } as const;
      this.become(started, 'began', state);
    }
  }

  /** Carries out the request of an attempt: immediately, or when the attempt ends. @returns false if it is refused */
  request(attempt: { readonly kind: string; readonly child?: string }, state: SagaState): boolean {
    const { kind, child } = attempt;
    const known = this.answers.get(attempt);
    if (known !== undefined) return known;
    if (kind === 'cancel-child') this.cancel(child!, state);
    const answer = kind === 'cancel-child' || this.undo(child!, state);
    this.answers.set(attempt, answer);
    return answer;
  }

  private cancel(id: string, state: SagaState): void {
    const child = this.sagas.get(id)!;
    if (child.status === 'running') this.become({ ...child, status: 'cancelling' }, 'was cancelled', state);
  }

  /** False: it refuses. One that is undone already, or about to be, is content. */
  private undo(id: string, state: SagaState): boolean {
    const child = this.sagas.get(id)!;
    if (child.status === 'undoing' || child.status === 'compensated') return true;
    const mayBe = child.status === 'completed' && !child.isFinal;
    this.become(mayBe ? { ...child, status: 'undoing' } : child, 'was to be undone', state);
    return mayBe;
  }

  /** `isFinal`: if it completes, it cannot be undone. */
  end(child: ChildSaga, wanted: End, isFinal: boolean, state: SagaState): void {
    const status = child.status === 'undoing' && wanted === 'completed' ? 'compensated' : wanted;
    const result = status === 'completed' ? `"${child.id}"` : child.result;
    this.become({ ...child, status, result, isFinal: isFinal && status === 'completed' }, 'ended', state);
  }

  /** The pending outcomes of the sagas that the state waits for. */
  outcomes(state: SagaState, now: number): ChildEnded[] {
    return awaitedBy(state).flatMap((id): ChildEnded[] => {
      const child = this.sagas.get(id);
      if (!child || isGoingOn(child.status)) return [];
      const { step, status, result } = child as ChildSaga & { status: End };
      const ended = { type: 'child-ended', step, child: id, now } as const;
      if (status === 'completed') return [{ ...ended, status, result }];
      return [{ ...ended, status, error: { name: 'SubSagaFailedError', message: status } }];
    });
  }

  /** A play that goes on from a state takes its word for how they are. */
  private adopt(state: SagaState, step: string): void {
    const { child, round, result } = stepState(state, step);
    if (child === undefined) return;
    const was = { running: 'running', cancelling: 'cancelling', undoing: 'undoing' } as const;
    const is = { ended: 'completed', failed: 'compensated', undone: 'compensated' } as const;
    const adopted = { id: child.id, step, round, result, status: { ...was, ...is }[child.phase] };
    this.sagas.set(child.id, { ...adopted, isFinal: false });
  }

  private become(child: ChildSaga, what: ChildEntry['what'], state: SagaState): void {
    this.sagas.set(child.id, child);
    this.note({ type: 'child', what, child, state });
  }
}

export function isGoingOn(status: ChildSaga['status']): boolean {
  return status === 'running' || status === 'cancelling' || status === 'undoing';
}

/** The sagas that the steps of this state wait for. */
export function awaitedBy({ steps }: SagaState): string[] {
  return [...steps.values()].filter(awaitsChild).map(({ child }) => child!.id);
}
