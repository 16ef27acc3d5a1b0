import type { StepNode } from '../../definition/graph/saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import type { Action, Decision } from '../../machine/decide.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { SagaState } from '../../machine/saga-state.js';
import { TIMED } from '../../machine/step-kinds.js';
import { stepsOfKinds } from '../../machine/step-map.js';
import type { Clock } from '../../shared/clock.js';
import { returnedKeyFlaw } from '../payload/returned-key.js';
import { serializeError } from '../payload/serialize-error.js';
import { mayBegin, type PermitLead, permitSlack } from './permit-lead.js';
import type { SagaStore } from '../ports/saga-store.js';

export interface RunPermitsPorts {
  /** Takes times from a rate limit. */
  readonly reserve: SagaStore['reserve'];
  /** The same for all runs of a worker. */
  readonly permits: PermitLead;
  /** The store's time. */
  readonly now: () => number;
  readonly clock: Clock;
}

/** Attempts that share a limit. */
interface LimitedActions {
  readonly node: StepNode;
  readonly key?: string;
  readonly actions: Action[];
}

/** The rate limits of one run's steps: they are asked when attempts may begin, and waited for. */
export class RunPermits {
  constructor(
    /** The saga's name. */
    private readonly saga: string,
    private readonly ports: RunPermitsPorts,
    /** What the function of a limit's key is given. */
    private readonly contextOf: (action: Action) => StepContext,
  ) {}

  /** Asks when these attempts may begin, each its step's limit. A step whose limit has no key for it fails. */
  async ask(limited: readonly Action[]): Promise<SagaEvent[]> {
    const events: SagaEvent[] = [];
    for (const group of this.byLimit(limited, events)) events.push(...(await this.askOne(group)));
    return events;
  }

  private byLimit(limited: readonly Action[], failed: SagaEvent[]): Iterable<LimitedActions> {
    const groups = new Map<string, LimitedActions>();
    for (const action of limited) {
      let key: string | undefined;
      try {
        key = this.keyOf(action);
      } catch (error) {
        failed.push(...keyFailed(action, error, this.ports.now()));
        continue;
      }
      const id = JSON.stringify([action.node.name, key]);
      const group = groups.get(id) ?? { node: action.node, key, actions: [] };
      group.actions.push(action);
      groups.set(id, group);
    }
    return groups.values();
  }

  private keyOf(action: Action): string | undefined {
    const { key: keyFor } = action.node.rateLimit!;
    if (!keyFor) return undefined;
    const key: unknown = keyFor(this.contextOf(action));
    const flaw = returnedKeyFlaw(key);
    if (flaw !== undefined) throw new TypeError(`rateLimit.key() ${flaw}`);
    return key as string;
  }

  private async askOne({ node, key, actions }: LimitedActions): Promise<SagaEvent[]> {
    const { permits, clock, now } = this.ports;
    const { count, per } = node.rateLimit!;
    const slack = permitSlack(per);
    const askedAt = clock.monotonic();
    const limit = { saga: this.saga, step: node.name, key, count, per: per + slack, ahead: permits.lead };
    const { times, now: storeNow } = await this.ports.reserve(limit, actions.length);
    permits.answered(clock.monotonic() - askedAt, slack);
    return actions.map(({ key: step }, n) => {
      const at = mayBegin(times[n]!, storeNow, now());
      return { type: 'rate-limit-granted', step, at, ...(key !== undefined && { key }) };
    });
  }

  /** It waits for a limit, and would come too late if another had to take it up. */
  isAboutToBegin(next: Decision, state: SagaState): boolean {
    const lead = this.lead(next, state);
    return lead > 0 && next.wakeAt! - this.ports.now() <= lead;
  }

  /** When it has to be taken in hand. */
  dueFor(next: Decision, state: SagaState): number | undefined {
    return next.wakeAt === undefined ? undefined : next.wakeAt - this.lead(next, state);
  }

  /** Milliseconds before it is due that it has to be taken in hand; 0 where it waits for no limit. */
  private lead({ wakeAt }: Decision, { steps }: SagaState): number {
    const { lead } = this.ports.permits;
    if (lead === 0 || wakeAt === undefined) return 0;
    for (const [, { permit }] of stepsOfKinds(steps, TIMED, wakeAt)) if (permit === wakeAt) return lead;
    return 0;
  }
}

/** A function of what is stored already: to ask it again would give the same. */
function keyFailed({ key: step }: Action, error: unknown, now: number): SagaEvent[] {
  const failed = { kind: 'error', unknown: false, retryable: false, random: 0 } as const;
  return [
    { type: 'step-started', step },
    { type: 'step-failed', step, error: serializeError(error), now, ...failed },
  ];
}
