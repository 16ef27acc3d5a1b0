import type { StepNode } from '../../definition/graph/saga-graph.js';
import type { Action, Decision } from '../../machine/decide.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import type { SagaState } from '../../machine/saga-state.js';
import { TIMED } from '../../machine/step-kinds.js';
import { stepsOfKinds } from '../../machine/step-map.js';
import type { Clock } from '../../shared/clock.js';
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

/** The rate limits of one run's steps: they are asked when attempts may begin, and waited for. */
export class RunPermits {
  constructor(
    /** The saga's name. */
    private readonly saga: string,
    private readonly ports: RunPermitsPorts,
  ) {}

  /** Asks when these attempts may begin, each its step's limit. */
  async ask(limited: readonly Action[]): Promise<SagaEvent[]> {
    const permitted: SagaEvent[] = [];
    for (const node of new Set(limited.map((action) => action.node))) {
      const actions = limited.filter((action) => action.node === node);
      permitted.push(...(await this.askOne(node, actions)));
    }
    return permitted;
  }

  private async askOne(node: StepNode, actions: readonly Action[]): Promise<SagaEvent[]> {
    const { permits, clock, now } = this.ports;
    const { count, per } = node.rateLimit!;
    const slack = permitSlack(per);
    const askedAt = clock.monotonic();
    const limit = { saga: this.saga, step: node.name, count, per: per + slack, ahead: permits.lead };
    const { times, now: storeNow } = await this.ports.reserve(limit, actions.length);
    permits.answered(clock.monotonic() - askedAt, slack);
    return actions.map(({ key }, n) => {
      return { type: 'rate-limit-granted', step: key, at: mayBegin(times[n]!, storeNow, now()) };
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
