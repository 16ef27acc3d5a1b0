import type { StoredStepPause } from '../../engine/ports/step-pause.js';

/** A step that an operator has paused, for all sagas of a name. */
export interface PausedStep {
  /** The name of the saga. */
  readonly saga: string;
  /** The name of the step. */
  readonly step: string;
  /** The operator who paused it. */
  readonly by?: string;
  /** The reason for the pause. */
  readonly reason?: string;
  /** The time of the pause, by the database's clock. */
  readonly since: Date;
  /** Present once it was resumed: the time, the operator and the reason. Only `pausedSteps({ resumed })` returns those. */
  readonly resumed?: { readonly at: Date; readonly by?: string; readonly reason?: string };
  /** In an application with shards: those on which it is paused. */
  readonly shards?: readonly string[];
}

/** Returns the pauses for operators. A pause that several shards have is one. */
export function toPausedSteps(pauses: readonly StoredStepPause[]): PausedStep[] {
  const steps = new Map<string, PausedStep>();
  for (const { saga, step, paused, resumed, shard } of pauses) {
    const { at: since, ...who } = paused;
    const key = resumed ? `${steps.size}` : JSON.stringify([saga, step]);
    const { shards = [] } = steps.get(key) ?? {};
    steps.set(key, {
      ...{ saga, step, ...who, since: new Date(since) },
      ...(resumed && { resumed: { ...resumed, at: new Date(resumed.at) } }),
      ...(shard !== undefined && { shards: [...shards, shard] }),
    });
  }
  return [...steps.values()];
}
