import type { Type } from '@nestjs/common';
import type { OptionsOfGraph } from '../options/saga-options.js';
import type { RemoteHandler } from '../options/handler-name.js';
import type { ResolvedRetryPolicy } from '../options/retry-policy.js';
import type { StartTimeOf, TimeOf } from '../options/time-of.js';
import type { SagaSchedule } from '../options/schedule-options.js';
import type { OptionsOfNode } from '../options/step-options.js';
import { APPROVAL_PREFIX } from '../options/signal-name.js';

/** A step as the machine sees it: a node of a directed acyclic graph, with the options of its decorator. */
export interface StepNode extends OptionsOfNode {
  readonly name: string;
  /**
   * `sub-saga`: its method gives the input of a saga of another class, whose results are this step's. `remote`: the
   * same of a handler's saga, which is known by its name alone, and may be in another process only. `signal` and
   * `approval`: its method is called once the signal, or an operator's approval, has come.
   */
  readonly kind: 'step' | 'sub-saga' | 'remote' | 'signal' | 'approval';
  /** The steps that this one waits for. */
  readonly after: readonly string[];
  /** `all` of them have to be done, or `any` one of them completed. */
  readonly join: 'all' | 'any';
  /** The steps that wait for this one; the inverse of `after`. */
  readonly dependents: readonly string[];
  readonly retry: ResolvedRetryPolicy;
  readonly compensationRetry: ResolvedRetryPolicy;
  /** Milliseconds per attempt. */
  readonly timeout?: number;
  /** Items at once. */
  readonly itemsAtOnce: number;
  /** Milliseconds between being ready and beginning. */
  readonly delay?: number;
  /** In its place: returns it, or the time at which it begins, once it is ready. */
  readonly delayOf?: TimeOf;
  /** If it fails permanently, the saga continues without it. */
  readonly optional: boolean;
  /**
   * The name of the signal or approval that the step waits for, and the maximum wait in milliseconds, or a function that
   * returns it, or its end.
   */
  readonly wait?: {
    readonly signal: string;
    readonly timeout?: number;
    readonly timeoutOf?: TimeOf;
    /** The number of people who have to approve the step; undefined: one. */
    readonly quorum?: number;
  };
  /** The class of a sub-saga; late, since classes may refer to each other. */
  readonly child?: () => Type;
  /** The name of the sub-saga, if its class is not here. */
  readonly childName?: string;
  /** The handler of a remote step. */
  readonly remote?: RemoteHandler;
}

/**
 * A saga's definition as data: validated, immutable, and all that the machine needs to know of it. `durability`, `schedule`
 * and `retention` are no part of what an instance goes by: they count as the class says now.
 */
export interface SagaGraph extends OptionsOfGraph {
  readonly name: string;
  /** The lower versions whose running instances are moved to this one; undefined: none. */
  readonly upgradeFrom?: readonly number[];
  /** Milliseconds for going forward, from when the saga may begin; past it the saga compensates. */
  readonly timeout?: number;
  readonly timeoutOf?: StartTimeOf;
  /** Milliseconds from when the saga may begin, past which it is overdue. */
  readonly sla?: number;
  readonly slaOf?: StartTimeOf;
  /** Starts instances by itself. */
  readonly schedule?: SagaSchedule;
  /** A start is refused while another saga has the key. Undefined: the new saga waits. */
  readonly rejectsWhileLocked?: true;
  /** In an order in which every step comes after those that it waits for. */
  readonly steps: ReadonlyMap<string, StepNode>;
}

/** What a failed attempt came to is known: it left nothing behind. */
export function leavesNothing(node: StepNode): boolean {
  return node.transactional || startsSaga(node);
}

/** Is there a way to undo it: a method, or for one that starts a saga that one's own compensations? */
export function canBeUndone(node: StepNode): boolean {
  return node.compensate !== undefined || startsSaga(node);
}

/**
 * Whether the step's method only returns the input of another saga, for which the step waits: a sub-saga, or that of a
 * handler.
 */
export function startsSaga({ kind }: StepNode): boolean {
  return kind === 'sub-saga' || kind === 'remote';
}

/** The name of the signal that an approval waits for. */
export function approvalSignal(step: string): string {
  return APPROVAL_PREFIX + step;
}

/** The step that the signal of a decision is for. Undefined: it is another signal. */
export function stepDecidedOn(signal: string): string | undefined {
  return signal.startsWith(APPROVAL_PREFIX) ? signal.slice(APPROVAL_PREFIX.length) : undefined;
}

/** `name@version`, as log lines and messages show it. */
export function sagaLabel(saga: { readonly name: string; readonly version: number }): string {
  return `${saga.name}@${saga.version}`;
}

/** The key under which an item of a fan-out has its state: `ship[3]`. */
export function itemKey(step: string, index: number): string {
  return `${step}[${index}]`;
}

/** The step of an item's key, and of a step's own. */
export function stepOfKey(key: string): string {
  return key.endsWith(']') ? key.slice(0, key.indexOf('[')) : key;
}

/** The index in an item's key; undefined: it is a step's own. */
export function indexOfKey(key: string): number | undefined {
  return key.endsWith(']') ? Number(key.slice(key.indexOf('[') + 1, -1)) : undefined;
}

/** The node of a key. */
export function nodeOf(graph: SagaGraph, key: string): StepNode {
  const node = graph.steps.get(stepOfKey(key));
  if (!node) throw new Error(`${sagaLabel(graph)} has no step '${key}'`);
  return node;
}
