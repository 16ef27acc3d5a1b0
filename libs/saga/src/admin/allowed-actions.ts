import { signalsOfGraph } from '../definition/describe/graph-record.js';
import { handlerOf } from '../definition/options/handler-name.js';
import { type SagaGraph, stepOfKey } from '../definition/graph/saga-graph.js';
import { isInProgress, isTerminal, needsOperator } from '../machine/saga-state.js';
import type { SagaSnapshot, StepSnapshot } from '../nest/views/saga-snapshot.js';
import type { OperatorAction } from './admin.options.js';

/** Something that a saga's state lets an operator do. Whether it still does when it is done, the call itself says. */
export interface AllowedAction {
  readonly kind: OperatorAction;
  /** The steps that it can be done to, where it is done to one. */
  readonly steps?: readonly string[];
  /** The names that can be sent. */
  readonly signals?: readonly string[];
  /** A retry of a saga that waits for the next attempt: with `now`. */
  readonly now?: true;
}

/** @param graph undefined: this process does not have the saga */
export function allowedActions(saga: SagaSnapshot, graph: SagaGraph | undefined): AllowedAction[] {
  const { status } = saga;
  const held = needsOperator(status);
  const open = !isTerminal(status);
  const turnsBack = saga.steps.some(({ status: step }) => step.startsWith('compensat'));
  const forward = status === 'running' || status === 'suspended' || status === 'paused' || status === 'stuck';
  const gaveUp = held && saga.waitingFor?.kind === 'person' ? saga.waitingFor.steps : [];
  const given = saga.steps.filter((step) => !isUnapproved(step, graph)).map(({ name }) => name);
  const skippable = gaveUp.filter((step) => given.includes(stepOfKey(step)));
  const goes = isInProgress(status);
  const hanging = goes ? partsOf(saga, ({ runningSince }) => runningSince !== undefined) : [];
  const waiting = goes ? partsOf(saga, (step) => isOpen(step, saga) && !isUnapproved(step, graph)) : [];
  const backsOff = goes && hanging.length === 0 ? partsOf(saga, isBackingOff) : [];
  const mayMove = (goes || status === 'paused') && hanging.length === 0;
  const timed = mayMove ? partsOf(saga, (step) => isTimed(step, saga)) : [];
  const approvals = open ? awaited(saga, graph) : [];
  const signals = open ? signalsOf(graph) : [];
  const actions: (AllowedAction | false)[] = [
    held && { kind: 'retry', ...(gaveUp.length > 0 && { steps: gaveUp }) },
    backsOff.length > 0 && { kind: 'retry', steps: backsOff, now: true },
    skippable.length > 0 && { kind: 'skip', steps: skippable },
    approvals.length > 0 && { kind: 'approve', steps: approvals },
    approvals.length > 0 && { kind: 'reject', steps: approvals },
    status === 'paused' && { kind: 'resume' },
    goes && { kind: 'pause' },
    signals.length > 0 && { kind: 'signal', signals },
    forward && !turnsBack && !pivotPassed(saga, graph) && { kind: 'cancel' },
    status === 'completed' && graph !== undefined && !pivotPassed(saga, graph) && { kind: 'undo' },
    timed.length > 0 && { kind: 'reschedule', steps: timed },
    graph !== undefined && waiting.length > 0 && { kind: 'complete', steps: waiting },
    graph !== undefined && hanging.length > 0 && { kind: 'abandonAttempt', steps: hanging },
    open && { kind: 'abort' },
  ];
  return actions.filter((action) => action !== false);
}

/** The steps that are so, and of those with items the items. */
function partsOf({ steps }: SagaSnapshot, is: (step: StepSnapshot) => boolean): string[] {
  return steps.flatMap(({ items, ...step }) => [step, ...(items ?? [])].filter(is).map(({ name }) => name));
}

/** In progress, or waiting for something other than a saga: what an operator may take as done. */
function isOpen({ status, child, runningSince }: StepSnapshot, saga: SagaSnapshot): boolean {
  if (runningSince !== undefined) return true;
  if (status === 'compensating') return child === undefined;
  return status === 'waiting' && child === undefined && saga.status === 'running';
}

function isBackingOff({ status, retryAt, errors }: StepSnapshot): boolean {
  const waits = status === 'compensating' || (status === 'waiting' && errors.length > 0);
  return waits && retryAt !== undefined;
}

/** It waits for a time, or may wait no longer than until one. */
function isTimed({ name, status, child, retryAt }: StepSnapshot, { waitingFor }: SagaSnapshot): boolean {
  if (child !== undefined) return false;
  const isConfirmed = waitingFor?.kind === 'signal' && waitingFor.step === name;
  return status === 'waiting' || (status === 'compensating' && (retryAt !== undefined || isConfirmed));
}

/** An approval that was not given. Its method is called once it was. */
function isUnapproved(step: StepSnapshot, graph: SagaGraph | undefined): boolean {
  const { name, status, attempts, runningSince } = step;
  if (graph?.steps.get(name)?.kind !== 'approval' || runningSince !== undefined) return false;
  return status === 'waiting' ? !isBackingOff(step) : status === 'failed' && attempts === 0;
}

/** The approvals that wait for a decision. */
function awaited(saga: SagaSnapshot, graph: SagaGraph | undefined): string[] {
  const waiting = saga.steps.filter((step) => step.status === 'waiting' && isUnapproved(step, graph));
  const told = saga.waitingFor?.kind === 'approval' ? [saga.waitingFor.step] : [];
  return [...new Set([...told, ...waiting.map(({ name }) => name)])];
}

function signalsOf(graph: SagaGraph | undefined): string[] {
  if (!graph || handlerOf(graph.name) !== undefined) return [];
  return signalsOfGraph(graph);
}

function pivotPassed(saga: SagaSnapshot, graph: SagaGraph | undefined): boolean {
  return saga.steps.some(
    ({ name, status }) => status === 'completed' && graph?.steps.get(name)?.pivot === true,
  );
}
