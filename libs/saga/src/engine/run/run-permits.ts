import type { SagaGraph, StepNode } from '../../definition/graph/saga-graph.js';
import type { StepContext } from '../../definition/types/contexts.js';
import type { Action, MachineDecision } from '../../machine/plan.js';
import type { SagaEvent } from '../../machine/saga-event.js';
import { type SagaState, stepState } from '../../machine/saga-state.js';
import { TIMED } from '../../machine/data/step-kinds.js';
import { permitSlack } from '../../machine/turn.js';
import { stepsOfKinds } from '../../machine/data/step-map.js';
import { failedForGood } from '../attempt/attempt-events.js';
import { keyContext, keyReturned } from '../payload/storable-key.js';
import type { SagaRunPorts } from './saga-run-ports.js';

/** The limit of the sagas of a name is stored like that of a step without a name. */
const WHOLE_SAGA = '';

/** A process that was stopped for a while is not that slow. */
const LONGEST_LEAD = 10_000;

/** Attempts that share a limit. */
interface LimitedActions {
  readonly node: StepNode;
  readonly key?: string;
  readonly actions: Action[];
}

/** The rate limits of one run's steps: they are asked when attempts may begin, and waited for. */
export class RunPermits {
  /** Times that this process has brought forward, and what they are to the store. */
  private readonly broughtForward = new Map<number, number>();

  constructor(
    private readonly graph: SagaGraph,
    /** The saga of the run. */
    private readonly holder: string,
    private readonly ports: Pick<SagaRunPorts, 'reserve' | 'permits' | 'now' | 'clock'>,
    /** What the function of a limit's key is given. */
    private readonly contextOf: (action: Action) => StepContext,
  ) {}

  /** Asks when these attempts may begin, each its step's limit. A step whose limit has no key for it fails. */
  async ask(limited: readonly Action[], state: SagaState): Promise<SagaEvent[]> {
    const events: SagaEvent[] = [];
    for (const group of this.byLimit(limited, events)) events.push(...(await this.askOne(group, state)));
    return events;
  }

  private byLimit(limited: readonly Action[], failed: SagaEvent[]): Iterable<LimitedActions> {
    const groups = new Map<string, LimitedActions>();
    for (const action of limited) {
      let key: string | undefined;
      try {
        key = this.keyOf(action);
      } catch (error) {
        failed.push(...failedForGood(action.key, error, this.ports.now()));
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
    return keyReturned(keyFor(keyContext(this.contextOf(action))), 'rateLimit.key');
  }

  private async askOne({ node, key, actions }: LimitedActions, state: SagaState): Promise<SagaEvent[]> {
    const passed = actions.flatMap((action) => {
      // A step that begins has no time any more, and neither has one that a lost worker may have begun.
      const { permit, limitKey } = stepState(state, action.key);
      return permit !== undefined && limitKey === key ? [permit] : [];
    });
    const times = await this.reserve(node.rateLimit!, { step: node.name, key, passed }, actions.length);
    return actions.map(({ key: step }, n) => {
      return { type: 'rate-limit-granted', step, at: times[n]!, ...(key !== undefined && { key }) };
    });
  }

  /** Asks when this saga may begin. A limit that has no key for it fails its first step. */
  async askTurn(action: Action, { turn }: SagaState): Promise<SagaEvent[]> {
    const limit = this.graph.rateLimit!;
    let key: string | undefined;
    try {
      key =
        limit.key &&
        keyReturned(limit.key({ ...keyContext(this.contextOf(action)), item: undefined }), 'rateLimit.key');
    } catch (error) {
      // It is not asked again if the saga goes on without the step.
      return [...failedForGood(action.key, error, this.ports.now()), { type: 'begun' }];
    }
    const passed = typeof turn === 'object' && turn.key === key ? [turn.at] : [];
    const [at] = await this.reserve(limit, { step: WHOLE_SAGA, key, passed }, 1);
    return [{ type: 'turn-granted', at: at!, ...(key !== undefined && { key }) }];
  }

  private async reserve(
    { count, per }: { readonly count: number; readonly per: number },
    of: { readonly step: string; readonly key: string | undefined; readonly passed: readonly number[] },
    times: number,
  ): Promise<number[]> {
    const { permits, clock, now } = this.ports;
    const slack = permitSlack(per);
    const askedAt = clock.monotonic();
    const { holder } = this;
    const { passed, ...where } = of;
    const unused = passed.map((time) => this.broughtForward.get(time) ?? time);
    const limit = {
      saga: this.graph.name,
      ...where,
      count,
      per: per + slack,
      ahead: permits.lead,
      holder,
      unused,
    };
    const given = await this.ports.reserve(limit, times);
    const took = clock.monotonic() - askedAt;
    permits.lead = took > slack / 2 ? Math.min(LONGEST_LEAD, 2 * took) : 0;
    return given.times.map((time) => {
      const begins = mayBegin(time, given.now, now());
      if (begins !== time) this.broughtForward.set(begins, time);
      return begins;
    });
  }

  /** The saga waits for a limit, and would come too late if another worker had to take it up. */
  isAboutToBegin(next: MachineDecision, state: SagaState): boolean {
    const lead = this.lead(next, state);
    return lead > 0 && next.wakeAt! - this.ports.now() <= lead;
  }

  /** When it has to be taken in hand. */
  dueFor(next: MachineDecision, state: SagaState): number | undefined {
    return next.wakeAt === undefined ? undefined : next.wakeAt - this.lead(next, state);
  }

  /** Milliseconds before it is due that it has to be taken in hand; 0 where it waits for no limit. */
  private lead({ wakeAt }: MachineDecision, { steps, turn }: SagaState): number {
    const { lead } = this.ports.permits;
    if (lead === 0 || wakeAt === undefined) return 0;
    if (typeof turn === 'object' && turn.at === wakeAt) return lead;
    for (const [, { permit }] of stepsOfKinds(steps, TIMED, wakeAt)) if (permit === wakeAt) return lead;
    return 0;
  }
}

/** Is this an attempt of a step with a rate limit that has no time from it yet, or let it pass? */
export function needsPermit({ kind, node, key }: Action, state: SagaState, now: number): boolean {
  if (kind !== 'run' || !node.rateLimit) return false;
  const { permit } = stepState(state, key);
  return permit === undefined || now > permit + permitSlack(node.rateLimit.per);
}

/** A time of the store, as this process sees it: what may begin at once is due here too, whose clock is behind. */
function mayBegin(time: number, storeNow: number, now: number): number {
  return time <= storeNow ? Math.min(time, now) : time;
}
