import type { Type } from '@nestjs/common';
import { buildSagaGraph, type DefaultPolicies } from '../build/build-saga-graph.js';
import { drawingOptions } from '../options/drawing-options.js';
import { sagaNameOf } from '../decorators/saga-name.js';
import { DEFAULT_POLICIES, type ResolvedRetryPolicy } from '../options/retry-policy.js';
import type { SagaSchedule, ScheduleRule } from '../options/schedule-options.js';
import { optionsOfNode } from '../options/step-options.js';
import type { SagaGraph, StepNode } from '../graph/saga-graph.js';
import { withoutUndefined } from '../../shared/without-undefined.js';

/** A saga's definition as plain data: `JSON.stringify` carries all of it. Times are in milliseconds. */
export interface SagaDescription {
  /** The saga's. */
  readonly name: string;
  /** The version of the graph. */
  readonly version: number;
  /** For going forward; absent: no deadline. */
  readonly timeout?: number;
  /** The deadline is computed from the input. */
  readonly timeoutComputed?: true;
  /** When it is overdue is computed from the input. */
  readonly slaComputed?: true;
  /** From when an instance may begin, past which it is overdue; absent: never. */
  readonly sla?: number;
  /** Starts instances by itself; `input`: it has a function that gives their input. Absent: it does not. */
  readonly schedule?: ScheduleRule & {
    /** The schedule computes the input of its sagas. */
    readonly input: boolean;
  };
  /** What a failure leads to. */
  readonly onFailure: 'compensate' | 'suspend';
  /** Paths of what of the input, and of each step's result, is never shown; absent: none. */
  readonly redact?: readonly string[];
  /** Has a `lockKey`: of the instances with one key, one is active at a time. */
  readonly locked: boolean;
  /** `reject`: a start is refused while another instance has the key. Absent: the new instance waits. */
  readonly lockMode?: 'reject';
  /** Has an `input`: what an instance is started with is checked by its class. */
  readonly inputChecked: boolean;
  /** At most so many instances are advanced at once, across all processes; absent: no limit. */
  readonly limit?: LimitDescription;
  /** At most so many sagas begin within `per` milliseconds; absent: no limit. */
  readonly rateLimit?: RateLimitDescription;
  /** In an order in which every step comes after those that it waits for. */
  readonly steps: readonly StepDescription[];
  /** What waits for what. */
  readonly edges: readonly EdgeDescription[];
}

/** A step of a saga as plain data. Functions (`when`, `forEach`, `retryIf`) show as their being there. */
export interface StepDescription {
  /** The step's, which is its method's. */
  readonly name: string;
  /** Which decorator it has. */
  readonly kind: StepNode['kind'];
  /** The name of the saga that a sub-saga step runs. */
  readonly child?: string;
  /** The handler that a remote step asks for, with its version. */
  readonly handler?: { readonly name: string; readonly version: number };
  /** The signal that a step of kind `signal` waits for. */
  readonly signal?: string;
  /** The number of operators who have to approve a step of kind `approval`; absent: one. */
  readonly quorum?: number;
  /** The steps that it waits for. */
  readonly after: readonly string[];
  /** Waits until `all` of them are done, or `any` one has completed. */
  readonly join: 'all' | 'any';
  /** Has a `when`: it may be skipped. */
  readonly conditional: boolean;
  /** Runs once per item. */
  readonly forEach: boolean;
  /** Items at once; only with `forEach`. */
  readonly itemsAtOnce?: number;
  /** At most so many attempts are in progress, over all sagas and processes; absent: no limit. */
  readonly limit?: LimitDescription;
  /** Wait between being ready and beginning. */
  readonly delay?: number;
  /** The delay is computed from the input and the results. */
  readonly delayComputed?: true;
  /** The end of the wait is computed from the input and the results. */
  readonly timeoutComputed?: true;
  /** The method that undoes it; absent: nothing does. */
  readonly compensation?: string;
  /** The step is undone also when it is the one that failed permanently. */
  readonly compensateOnFailure: boolean;
  /** The method that is asked when an outcome is unknown. */
  readonly probe?: string;
  /** Later failures go back to it, so many rounds in all; absent: it is none. */
  readonly savepoint?: { readonly attempts: number };
  /** The step is a point of no return. */
  readonly pivot: boolean;
  /** `continue`: if it fails permanently, the saga continues without it; absent: the saga compensates. */
  readonly onFailure?: 'continue';
  /** The step's writes and its checkpoint are one commit. */
  readonly transactional: boolean;
  /** False: at most once. */
  readonly idempotent: boolean;
  /** The retry policy of the attempts. */
  readonly retry: RetryDescription;
  /** The retry policy of the compensation. */
  readonly compensationRetry: RetryDescription;
  /** Per attempt; of a step of kind `signal` or `approval` for all its waiting. Absent: none. */
  readonly timeout?: number;
  /** Between two heartbeats of an attempt. Absent: none. */
  readonly heartbeat?: number;
  /** Per attempt of the compensation; absent: as `timeout` of a step that does its work itself. */
  readonly compensationTimeout?: number;
  /** The signal that its compensation waits for, and for how long; absent: none. */
  readonly compensationReply?: { readonly signal: string; readonly timeout?: number };
  /** At most so many attempts within `per` milliseconds; absent: none. */
  readonly rateLimit?: RateLimitDescription;
}

/** A limit over all processes. */
export interface LimitDescription {
  /** The number of sagas, or of attempts. */
  readonly count: number;
  /** Each key has the whole limit for itself. Absent: the limit is of the saga's name, or of the step. */
  readonly keyed?: true;
}

/** A limit within windows of time. */
export interface RateLimitDescription extends LimitDescription {
  /** The length of the window. */
  readonly per: number;
}

/** A retry policy with its defaults in, without its functions. */
export type RetryDescription = Omit<ResolvedRetryPolicy, 'retryIf' | 'backoff'> & {
  /** Absent: exponential. */
  readonly backoff?: 'fixed' | 'function';
};

/** `to` waits for `from`. */
export interface EdgeDescription {
  /** A step by name. */
  readonly from: string;
  /** A step by name. */
  readonly to: string;
  /** That of the step that waits. */
  readonly join: 'all' | 'any';
}

/**
 * The definition of a class decorated with `@Saga`, as data for dashboards, tests and documents. `mermaidOf` and
 * `layoutOf` make pictures of it. Needs no application and no database.
 * @param defaults the module's retry policies, for steps that have none of their own
 * @throws SagaValidationError for an unknown key of `defaults`
 * @throws SagaDefinitionError when the definition is wrong, as the application would at start-up
 */
export function describeSaga(saga: Type, defaults: DefaultPolicies = {}): SagaDescription {
  const given = drawingOptions<DefaultPolicies>('describeSaga', defaults, DEFAULT_POLICIES);
  return descriptionOf(buildSagaGraph(saga, given));
}

/** What is to be known of a graph, without its functions. It equals what comes out of JSON. */
export function descriptionOf(graph: SagaGraph): SagaDescription {
  const steps = [...graph.steps.values()].map(stepDescriptionOf);
  return withoutUndefined({
    name: graph.name,
    version: graph.version,
    timeout: graph.timeout,
    timeoutComputed: graph.timeoutOf && true,
    sla: graph.sla,
    slaComputed: graph.slaOf && true,
    schedule: graph.schedule && scheduleDescriptionOf(graph.schedule),
    onFailure: graph.onFailure,
    redact: graph.redact,
    locked: graph.lockKey !== undefined,
    lockMode: graph.rejectsWhileLocked && 'reject',
    inputChecked: graph.input !== undefined,
    limit: graph.limit && limitOf(graph.limit),
    rateLimit: graph.rateLimit && limitOf(graph.rateLimit),
    steps,
    edges: steps.flatMap(({ name, after, join }) => after.map((from) => ({ from, to: name, join }))),
  });
}

function stepDescriptionOf(node: StepNode): StepDescription {
  return withoutUndefined({
    ...optionsOfNode(node),
    ...{ compensate: undefined, when: undefined },
    name: node.name,
    kind: node.kind,
    child: childOf(node),
    handler: node.remote && { name: node.remote.name, version: node.remote.version },
    signal: node.kind === 'signal' ? node.wait?.signal : undefined,
    quorum: node.wait?.quorum,
    after: [...new Set(node.after)],
    join: node.join,
    conditional: node.when !== undefined,
    forEach: node.forEach !== undefined,
    itemsAtOnce: node.forEach && node.itemsAtOnce,
    limit: node.limit && limitOf(node.limit),
    delay: node.delay,
    delayComputed: node.delayOf && true,
    timeoutComputed: node.wait?.timeoutOf && true,
    compensation: node.compensate,
    savepoint: node.savepoint && { ...node.savepoint },
    onFailure: node.optional ? 'continue' : undefined,
    retry: retryDescriptionOf(node.retry),
    compensationRetry: retryDescriptionOf(node.compensationRetry),
    compensationReply: node.compensationReply && withoutUndefined({ ...node.compensationReply }),
    timeout: node.wait ? node.wait.timeout : node.timeout,
    rateLimit: node.rateLimit && limitOf(node.rateLimit),
  });
}

/** The name of the saga that a sub-saga step runs. */
export function childOf({ child, childName }: StepNode): string | undefined {
  return child ? sagaNameOf(child()) : childName;
}

function limitOf<Limit extends { readonly key?: unknown }>({ key, ...limit }: Limit) {
  return { ...limit, ...(key !== undefined && { keyed: true as const }) };
}

function scheduleDescriptionOf({ cron, timezone, overlap, catchUp, input }: SagaSchedule) {
  return { cron, timezone, overlap, catchUp, input: input !== undefined };
}

function retryDescriptionOf({ retryIf: _, backoff, ...policy }: ResolvedRetryPolicy): RetryDescription {
  if (backoff === undefined) return policy;
  return { ...policy, backoff: backoff === 'fixed' ? 'fixed' : 'function' };
}
