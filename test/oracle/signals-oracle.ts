import type { Entry } from './model-entries.js';
import type { SentSignal } from './model-signals.js';
import { stepState } from '../../libs/saga/src/machine/saga-state.js';

/** Rules for signals to sagas, checked against their recorded effects. */
export const HEARD = [
  'calls what waits for a signal only with one that was sent, and what came with it',
  'gives a signal to one step in one round, also when its worker is lost',
  'gives a step in one round the same signal at each attempt',
] as const;

type Wrong = [string, string] | undefined;

/** Knows what was sent, and which step's method was called with it. */
export class SignalWitness {
  private readonly sent = new Map<number, SentSignal>();
  /** By number: the key and round to whose method it was given. */
  private readonly givenTo = new Map<number, string>();
  private readonly given = new Map<string, number>();

  read(entry: Entry): Wrong {
    if (entry.type === 'sent') this.sent.set(entry.signal.number, entry.signal);
    return entry.type === 'started' ? this.started(entry) : undefined;
  }

  private started({ attempt, after }: Extract<Entry, { type: 'started' }>): Wrong {
    const { kind, node, key, round } = attempt;
    if (kind !== 'run' || node.wait === undefined) return undefined;
    const { wait } = stepState(after, key);
    const id = `${key}~${round}`;
    if (wait?.takenSignal === undefined) return [HEARD[0], `${id} with none`];
    const { takenSignal } = wait;
    const signal = this.sent.get(takenSignal);
    const isIt = signal?.name === node.wait.signal && !signal.isRefusal && signal.payload === wait.payload;
    if (!isIt)
      return [HEARD[0], `${id} with ${takenSignal}, ${wait.payload}; it was ${JSON.stringify(signal)}`];
    const other = this.givenTo.get(takenSignal) ?? id;
    if (other !== id) return [HEARD[1], `${takenSignal} to ${id}, and before to ${other}`];
    const before = this.given.get(id) ?? takenSignal;
    if (before !== takenSignal) return [HEARD[2], `${takenSignal} to ${id}, and before ${before}`];
    this.givenTo.set(takenSignal, id);
    this.given.set(id, takenSignal);
    return undefined;
  }
}
